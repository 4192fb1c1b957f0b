import { hash, type KeyObject, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { RemoteProblem } from "../../remote-protocol/problems.ts";
import type { SignedMessage } from "../../remote-protocol/signatures/base.ts";
import { SignatureVerifier } from "../../remote-protocol/signatures/verifier.ts";

/** The credentials that an executor accepts. A caller needs only one of them. */
export interface Credentials {
  /** Public Ed25519 keys of signatures, by id. Default: none. */
  readonly keys?: ReadonlyMap<string, KeyObject>;
  /** A bearer token of at least {@link MIN_TOKEN_LENGTH} characters. Default: none. */
  readonly token?: string;
}

/** Minimum length of a token, against brute force. */
export const MIN_TOKEN_LENGTH = 16;

/** Authenticates the senders of requests. */
export class Authentication {
  readonly #verifier: SignatureVerifier | undefined;
  readonly #token: Buffer | undefined;

  /** @throws {TypeError} if a key is not a public Ed25519 key, or the token is too short. */
  constructor({ keys, token }: Credentials) {
    if (keys !== undefined && keys.size > 0) this.#verifier = new SignatureVerifier(keys);
    if (token === undefined) return;
    if (token.length < MIN_TOKEN_LENGTH) {
      throw new TypeError(`the token must have at least ${MIN_TOKEN_LENGTH} characters`);
    }
    this.#token = digestOf(token);
  }

  /** Whether requests without credentials are refused. */
  get isRequired(): boolean {
    return this.#verifier !== undefined || this.#token !== undefined;
  }

  /**
   * Authenticates the sender of a request.
   *
   * @param authority The host, which has been checked.
   * @returns the caller's name, and whether the request is signed, which means that its digest must be
   *   checked.
   * @throws {RemoteProblem} `unauthenticated`, and those of `SignatureVerifier.verify`.
   */
  check(
    { method = "", url = "", headers }: IncomingMessage,
    authority: string,
  ): { readonly caller: string; readonly isSigned: boolean } {
    if (!this.isRequired) return { caller: "", isSigned: false };
    if (this.#verifier !== undefined && headers["signature-input"] !== undefined) {
      const message = { method, authority, path: url, headers: headers as SignedMessage["headers"] };
      return { caller: `key ${this.#verifier.verify(message, method === "POST")}`, isSigned: true };
    }
    if (this.#token !== undefined && headers.authorization !== undefined) {
      const [, given = ""] = /^Bearer +([^ ]+)$/i.exec(headers.authorization) ?? [];
      // Digests have the same length, and reveal nothing about where the tokens differ.
      if (timingSafeEqual(digestOf(given), this.#token)) return { caller: "token", isSigned: false };
      throw new RemoteProblem("unauthenticated", "the bearer token is wrong");
    }
    const ways = [this.#verifier && "a signature", this.#token && "a bearer token"].filter(Boolean);
    throw new RemoteProblem("unauthenticated", `the request must have ${ways.join(" or ")}`);
  }
}

function digestOf(text: string): Buffer {
  return hash("sha256", text, "buffer");
}
