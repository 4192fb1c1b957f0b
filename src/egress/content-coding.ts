import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate, inflateRaw, zstdDecompress } from "node:zlib";

type Decode = (bytes: Buffer, options: { readonly maxOutputLength: number }) => Promise<Buffer>;

/** The supported content codings (RFC 9110, section 8.4.1; RFC 7932; RFC 8878). */
const DECODERS: ReadonlyMap<string, Decode> = new Map<string, Decode>([
  ["gzip", promisify(gunzip)],
  ["x-gzip", promisify(gunzip)],
  ["deflate", (bytes, options) => (isZlib(bytes) ? INFLATE : INFLATE_RAW)(bytes, options)],
  ["br", promisify(brotliDecompress)],
  ["zstd", promisify(zstdDecompress)],
]);

const INFLATE: Decode = promisify(inflate);
const INFLATE_RAW: Decode = promisify(inflateRaw);

/** Maximum number of codings of one body. Each could multiply its size, and ordinary servers use one. */
const MAX_CODINGS = 2;

/** A body does not match its `content-encoding` header, or its coding is unsupported. */
export class ContentCodingError extends Error {
  override readonly name = "ContentCodingError";
}

/** A decoded body exceeds its budget. */
export class DecodedTooLargeError extends Error {
  override readonly name = "DecodedTooLargeError";
}

/** Returns the codings of a `content-encoding` header, the outermost one first, without `identity`. */
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
 * Decodes a body in libuv's thread pool, and stops as soon as the budget is exceeded.
 *
 * @param codings The result of {@link contentCodings}.
 * @throws {ContentCodingError} if the body cannot be decoded.
 * @throws {DecodedTooLargeError} if the decoded body is larger than `maxBytes`.
 */
export async function decodeBody(
  body: Buffer,
  codings: readonly string[],
  maxBytes: number,
): Promise<Buffer> {
  if (codings.length > MAX_CODINGS) throw new ContentCodingError("the body has too many content codings");
  let decoded = body;
  for (const coding of codings) {
    const decode = DECODERS.get(coding);
    if (decode === undefined) throw new ContentCodingError("the body has an unknown content coding");
    try {
      decoded = await decode(decoded, { maxOutputLength: Math.max(1, maxBytes) });
    } catch (error) {
      const { code } = error as { readonly code?: unknown };
      if (code === "ERR_BUFFER_TOO_LARGE") throw new DecodedTooLargeError();
      throw new ContentCodingError(`the body is not valid ${coding}`, { cause: error });
    }
  }
  return decoded;
}

/** Whether a `deflate` body has the zlib wrapper (RFC 1950) that it should have; some servers omit it. */
function isZlib(bytes: Buffer): boolean {
  return ((bytes[0] ?? 0) & 0x0f) === 8 && bytes.length > 1 && bytes.readUInt16BE(0) % 31 === 0;
}
