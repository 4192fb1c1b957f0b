import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { RemoteProblem } from "../remote-protocol/problems.ts";

/** The connection ended before the request did: there is nobody to answer. */
export class ClientGoneError extends Error {
  override readonly name = "ClientGoneError";
}

/** How many bytes of bodies are held at once. */
export class ByteBudget {
  #left: number;

  constructor(bytes: number) {
    this.#left = bytes;
  }

  /** Takes some; tells whether they were there. */
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
 * The length of a request's body.
 *
 * @throws {RemoteProblem} `length_required` or `too_large`.
 */
export function bodyLength({ headers }: IncomingMessage, maxBytes: number): number {
  const length = headers["content-length"];
  // The parser has checked that it is a number, and that there is no other encoding beside it.
  if (length === undefined) throw new RemoteProblem("length_required", "the request needs a content-length");
  const bytes = Number(length);
  if (bytes <= maxBytes) return bytes;
  throw new RemoteProblem("too_large", `the body must have at most ${maxBytes} bytes`);
}

/**
 * Reads a body, whose length the parser holds to what the header says.
 *
 * @throws {ClientGoneError}
 */
export function readBody(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const fail = (): void => reject(new ClientGoneError());
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("error", fail);
    request.on("close", fail);
    request.on("end", () => {
      request.off("close", fail);
      resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks));
    });
  });
}

/** @throws {RemoteProblem} `bad_request` unless the body is UTF-8. */
export function decodeBody(body: Buffer): string {
  if (isUtf8(body)) return body.toString();
  throw new RemoteProblem("bad_request", "the body is no valid UTF-8");
}
