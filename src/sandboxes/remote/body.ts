/** A body is larger than its budget. */
export class BodyTooLargeError extends Error {
  override readonly name = "BodyTooLargeError";
}

/**
 * Reads a body, and never holds more of it than its budget.
 *
 * @throws {BodyTooLargeError} when it is larger and `beyond` is `"refuse"`; `"cut"` keeps the beginning.
 */
export async function readBody(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number = Number.POSITIVE_INFINITY,
  beyond: "refuse" | "cut",
): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop destroys the body, and with it the connection.
  for await (const chunk of body) {
    const left = maxBytes - bytes;
    bytes += chunk.byteLength;
    if (chunk.byteLength <= left) {
      chunks.push(chunk);
      continue;
    }
    if (beyond === "refuse") throw new BodyTooLargeError();
    chunks.push(chunk.subarray(0, left));
    break;
  }
  return Buffer.concat(chunks);
}
