import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { RemoteProblem } from "../../remote-protocol/problems.ts";

/** Bounds the bytes of bodies that are held at once. */
export class ByteBudget {
  #left: number;

  constructor(bytes: number) {
    this.#left = bytes;
  }

  /** Reserves bytes; returns `false` if there are not enough. */
  take(bytes: number): boolean {
    if (bytes > this.#left) return false;
    this.#left -= bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#left += bytes;
  }
}

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
 * @param take Called with the body as soon as its last byte arrives.
 */
export function readBody(request: IncomingMessage, bytes: number, take: (body: Buffer) => void): void {
  const chunks: Buffer[] = [];
  let left = bytes;
  if (left === 0) {
    take(Buffer.alloc(0));
    return;
  }
  request.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left === 0 && chunks.length === 0) take(chunk);
    else {
      chunks.push(chunk);
      if (left === 0) take(Buffer.concat(chunks));
    }
  });
}

/** @throws {RemoteProblem} `bad_request` unless the body is UTF-8. */
export function decodeBody(body: Buffer): string {
  if (isUtf8(body)) return body.toString();
  throw new RemoteProblem("bad_request", "the body is not valid UTF-8");
}
