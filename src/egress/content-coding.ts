import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate, inflateRaw, zstdDecompress } from "node:zlib";

type Decode = (bytes: Buffer, options: { readonly maxOutputLength: number }) => Promise<Buffer>;

/** The content codings (RFC 9110, section 8.4.1; RFC 7932; RFC 8878) that are understood. */
const DECODERS: ReadonlyMap<string, Decode> = new Map<string, Decode>([
  ["gzip", promisify(gunzip)],
  ["x-gzip", promisify(gunzip)],
  ["deflate", (bytes, options) => (isZlib(bytes) ? INFLATE : INFLATE_RAW)(bytes, options)],
  ["br", promisify(brotliDecompress)],
  ["zstd", promisify(zstdDecompress)],
]);

const INFLATE: Decode = promisify(inflate);
const INFLATE_RAW: Decode = promisify(inflateRaw);

/** Codings on top of each other; no honest server uses more. */
const MAX_CODINGS = 2;

/** A body is not encoded as its header says, or in a way that is not understood. */
export class ContentCodingError extends Error {
  override readonly name = "ContentCodingError";
}

/** A body is larger than its budget once it is decoded. */
export class DecodedTooLargeError extends Error {
  override readonly name = "DecodedTooLargeError";
}

/** The codings of a `content-encoding` header, the outermost one first; none for `identity`. */
export function contentCodings(header: string | readonly string[] | undefined): readonly string[] {
  if (header === undefined) return [];
  return String(header)
    .toLowerCase()
    .split(",")
    .map((coding) => coding.trim())
    .filter((coding) => coding !== "" && coding !== "identity")
    .reverse();
}

/**
 * Undoes content codings in the thread pool, and ends as soon as the budget is exceeded.
 *
 * @param codings As {@link contentCodings} gives them.
 * @throws {ContentCodingError}
 * @throws {DecodedTooLargeError}
 */
export async function decodeBody(
  body: Buffer,
  codings: readonly string[],
  maxBytes: number,
): Promise<Buffer> {
  if (codings.length > MAX_CODINGS) throw new ContentCodingError("too many content codings");
  let decoded = body;
  for (const coding of codings) {
    const decode = DECODERS.get(coding);
    if (decode === undefined) throw new ContentCodingError("an unknown content coding");
    try {
      decoded = await decode(decoded, { maxOutputLength: Math.max(1, maxBytes) });
    } catch (error) {
      const { code } = error as { readonly code?: unknown };
      if (code === "ERR_BUFFER_TOO_LARGE") throw new DecodedTooLargeError();
      throw new ContentCodingError(`no valid ${coding}`, { cause: error });
    }
  }
  return decoded;
}

/** Whether `deflate` is what it should be (RFC 1950); some servers leave the zlib wrapper out. */
function isZlib(bytes: Buffer): boolean {
  return ((bytes[0] ?? 0) & 0x0f) === 8 && bytes.length > 1 && bytes.readUInt16BE(0) % 31 === 0;
}
