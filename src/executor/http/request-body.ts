import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { RemoteProblem } from "../../remote-protocol/problems.ts";

/** Bytes that are reserved for a body of which only a part has arrived, at least. */
const FIRST_BYTES = 16_384;

/**
 * Returns the length of a request's body.
 *
 * @throws {RemoteProblem} `length_required` or `too_large`.
 */
export function bodyLength({ headers }: IncomingMessage, maxBytes: number): number {
  const length = headers["content-length"];
  // The parser has checked that it is a number, and that there is no `transfer-encoding`.
  if (length === undefined)
    throw new RemoteProblem("length_required", "the request must have a content-length");
  const bytes = Number(length);
  if (bytes <= maxBytes) return bytes;
  throw new RemoteProblem("too_large", `the body must have at most ${maxBytes} bytes`);
}

/**
 * Reads a body. The parser ensures that it is not longer than its length. If the connection closes before its
 * end, `take` is never called.
 *
 * @param bytes The length returned by {@link bodyLength}.
 * @param reserve Reserves memory for bytes that have arrived, so that bytes that were only announced cost nothing. If
 *   it returns `false`, it has refused the request, and the rest of the body is dropped.
 * @param take Called with the body as soon as its last byte arrives.
 */
export function readBody(
  request: IncomingMessage,
  bytes: number,
  reserve: (bytes: number) => boolean,
  take: (body: Buffer) => void,
): void {
  let body = Buffer.alloc(0);
  let length = 0;
  if (bytes === 0) {
    take(body);
    return;
  }
  const add = (chunk: Buffer): void => {
    const arrived = length + chunk.length;
    if (arrived > body.length) {
      // Most bodies arrive in one chunk, which need not be copied.
      const isWhole = chunk.length === bytes;
      const capacity = isWhole ? bytes : Math.min(bytes, Math.max(FIRST_BYTES, arrived * 2));
      if (!reserve(capacity - body.length)) {
        request.off("data", add).resume();
        return;
      }
      if (isWhole) {
        take(chunk);
        return;
      }
      const grown = Buffer.allocUnsafeSlow(capacity);
      body.copy(grown, 0, 0, length);
      body = grown;
    }
    chunk.copy(body, length);
    length = arrived;
    if (length === bytes) take(body);
  };
  request.on("data", add);
}

/** @throws {RemoteProblem} `bad_request` unless the body is UTF-8. */
export function decodeBody(body: Buffer): string {
  if (isUtf8(body)) return body.toString();
  throw new RemoteProblem("bad_request", "the body is not valid UTF-8");
}
