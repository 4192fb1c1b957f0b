import { hash, type KeyObject, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { RemoteProblem } from "../../remote-protocol/problems.ts";
import type { SignedMessage } from "../../remote-protocol/signatures/base.ts";
import { SignatureVerifier } from "../../remote-protocol/signatures/verifier.ts";

/** How callers prove who they are; any one of it will do. */
export interface Credentials {
  /** Public Ed25519 keys by their ids. Default: none. */
  readonly keys?: ReadonlyMap<string, KeyObject>;
  /** A bearer token of at least {@link MIN_TOKEN_LENGTH} characters. Default: none. */
  readonly token?: string;
}

/** What nobody guesses. */
export const MIN_TOKEN_LENGTH = 16;

/** Tells who sends a request. */
export class Authentication {
  readonly #verifier: SignatureVerifier | undefined;
  readonly #token: Buffer | undefined;

  /** @throws {TypeError} when a key is none, or the token is too short. */
  constructor({ keys, token }: Credentials) {
    if (keys !== undefined && keys.size > 0) this.#verifier = new SignatureVerifier(keys);
    if (token === undefined) return;
    if (token.length < MIN_TOKEN_LENGTH) {
      throw new TypeError(`the token must have at least ${MIN_TOKEN_LENGTH} characters`);
    }
    this.#token = digestOf(token);
  }

  /** Whether nobody is let in without proof. */
  get isRequired(): boolean {
    return this.#verifier !== undefined || this.#token !== undefined;
  }

  /**
   * @param authority The checked host.
   * @returns the caller's name, and whether the body must be held against its digest.
   * @throws {RemoteProblem} as `SignatureVerifier.verify`; `unauthenticated`.
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
      // Digests are of one length, and tell nothing of where they differ.
      if (timingSafeEqual(digestOf(given), this.#token)) return { caller: "token", isSigned: false };
      throw new RemoteProblem("unauthenticated", "the bearer token is none of this executor's");
    }
    const ways = [this.#verifier && "a signature", this.#token && "a bearer token"].filter(Boolean);
    throw new RemoteProblem("unauthenticated", `the request needs ${ways.join(" or ")}`);
  }
}

function digestOf(text: string): Buffer {
  return hash("sha256", text, "buffer");
}
