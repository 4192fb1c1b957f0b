import type { ZlibOptions } from "node:zlib";
import { MAX_TEXT_BYTES } from "../external-access.ts";

/**
 * The most bytes to compress or decompress at once. Node.js can be interrupted only after each 16 KiB that it returns,
 * and compressed data can have any number of blocks that contain nothing.
 */
const MAX_INPUT_BYTES = 2 * 1_024 * 1_024;

/** Above this level, bytes of few different values take about 300 ms a MiB; at this one, any take at most 60. */
const LEVEL = 4;

/** Loaded on first use: a thread that never compresses starts faster. */
const zlib = (): typeof import("node:zlib") => process.getBuiltinModule("node:zlib");

/**
 * Compresses bytes (Compression Streams, section 4).
 *
 * @throws {RangeError} for more than 2 MiB.
 */
export function compress(format: string, bytes: Uint8Array): Uint8Array {
  if (bytes.length > MAX_INPUT_BYTES) {
    throw new RangeError("a CompressionStream can compress at most 2 MiB");
  }
  const { gzipSync, deflateSync, deflateRawSync } = zlib();
  switch (format) {
    case "gzip":
      return gzipSync(bytes, { level: LEVEL });
    case "deflate":
      return deflateSync(bytes, { level: LEVEL });
    default:
      return deflateRawSync(bytes, { level: LEVEL });
  }
}

/**
 * Decompresses bytes.
 *
 * @throws {RangeError} for more than 2 MiB, and if the result has more than 8 MiB.
 * @throws {TypeError} if the bytes are invalid.
 */
export function decompress(format: string, bytes: Uint8Array): Uint8Array {
  if (bytes.length > MAX_INPUT_BYTES) {
    throw new RangeError("a DecompressionStream can take at most 2 MiB");
  }
  const { gunzipSync, inflateSync, inflateRawSync } = zlib();
  const options: ZlibOptions = { maxOutputLength: MAX_TEXT_BYTES };
  try {
    switch (format) {
      case "gzip":
        return gunzipSync(bytes, options);
      case "deflate":
        return inflateSync(bytes, options);
      default:
        return inflateRawSync(bytes, options);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") {
      throw new RangeError("a DecompressionStream can return at most 8 MiB");
    }
    throw new TypeError("the compressed data is invalid");
  }
}
