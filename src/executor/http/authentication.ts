import { hash, type KeyObject, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { checkPrincipal, type Principal } from "../../policy/principal.ts";
import { RemoteProblem } from "../../remote-protocol/problems.ts";
import type { SignedMessage } from "../../remote-protocol/signatures/base.ts";
import { SignatureVerifier } from "../../remote-protocol/signatures/verifier.ts";

/** The credentials that an executor accepts. A caller needs only one of them. */
export interface Credentials {
  /** Public Ed25519 keys of signatures, by id. Default: none. */
  readonly keys?: ReadonlyMap<string, KeyObject>;
  /** A bearer token of at least {@link MIN_TOKEN_LENGTH} characters. Default: none. */
  readonly token?: string;
  /** The principal's id for callers with the token. Default: `"token"`. */
  readonly tokenName?: string;
}

/** The sender of a request. */
export interface Sender {
  /** A name of its own for each way to authenticate. Calls of different callers are different calls. */
  readonly caller: string;
  /** Who calls; `undefined` if the executor has no credentials, and other users can reach it. */
  readonly principal: Principal | undefined;
  /** Whether the request is signed, which means that its digest must be checked. */
  readonly isSigned: boolean;
}

/** Minimum length of a token, against brute force. */
export const MIN_TOKEN_LENGTH = 16;

/** The principal's id for callers with the token, unless the credentials name it. */
export const DEFAULT_TOKEN_NAME = "token";

/** The principal's id for all callers over a unix socket, if there are no credentials. */
export const LOCAL_ID = "local";

/** Authenticates the senders of requests. */
export class Authentication {
  readonly #verifier: SignatureVerifier | undefined;
  readonly #token: Buffer | undefined;
  readonly #services = new Map<string, Principal>();
  readonly #tokenSender: Sender;
  #unknownSender: Sender = { caller: "", principal: undefined, isSigned: false };

  /**
   * @param before The authentication that this one replaces.
   * @throws {TypeError} if a key is not a public Ed25519 key, the token is too short, or its name is empty or the id of
   *   a key.
   */
  constructor({ keys, token, tokenName = DEFAULT_TOKEN_NAME }: Credentials, before?: Authentication) {
    if (keys !== undefined && keys.size > 0) {
      const verifier = before === undefined ? undefined : before.#verifier;
      this.#verifier = new SignatureVerifier(keys, Date.now(), verifier);
    }
    if (before !== undefined) this.#unknownSender = before.#unknownSender;
    for (const id of keys?.keys() ?? []) this.#services.set(id, service(id));
    if (token !== undefined && this.#services.has(tokenName)) {
      throw new TypeError(
        `the token and a key have the same name '${tokenName}': a policy could not tell them apart`,
      );
    }
    this.#tokenSender = { caller: "token", principal: service(tokenName), isSigned: false };
    if (token === undefined) return;
    if (token.length < MIN_TOKEN_LENGTH) {
      throw new TypeError(`the token must have at least ${MIN_TOKEN_LENGTH} characters`);
    }
    this.#token = digestOf(token);
  }

  /** Without credentials, all callers are `local`: only this user can connect to the executor's unix socket. */
  assumeLocal(): void {
    this.#unknownSender = { caller: "", principal: service(LOCAL_ID), isSigned: false };
  }

  /** Whether requests without credentials are refused. */
  get isRequired(): boolean {
    return this.#verifier !== undefined || this.#token !== undefined;
  }

  /**
   * Authenticates the sender of a request.
   *
   * @param authority The host, which has been checked.
   * @throws {RemoteProblem} `unauthenticated`, and those of `SignatureVerifier.verify`.
   */
  check({ method = "", url = "", headers }: IncomingMessage, authority: string): Sender {
    if (!this.isRequired) return this.#unknownSender;
    if (this.#verifier !== undefined && headers["signature-input"] !== undefined) {
      const message = { method, authority, path: url, headers: headers as SignedMessage["headers"] };
      const key = this.#verifier.verify(message, method === "POST");
      return { caller: `key ${key}`, principal: this.#services.get(key), isSigned: true };
    }
    if (this.#token !== undefined && headers.authorization !== undefined) {
      const [, given = ""] = /^Bearer +([^ ]+)$/i.exec(headers.authorization) ?? [];
      // Digests have the same length, and reveal nothing about where the tokens differ.
      if (timingSafeEqual(digestOf(given), this.#token)) return this.#tokenSender;
      throw new RemoteProblem("unauthenticated", "the bearer token is wrong");
    }
    const ways = [this.#verifier && "a signature", this.#token && "a bearer token"].filter(Boolean);
    throw new RemoteProblem("unauthenticated", `the request must have ${ways.join(" or ")}`);
  }
}

function service(id: string): Principal {
  return checkPrincipal({ id, kind: "service" });
}

function digestOf(text: string): Buffer {
  return hash("sha256", text, "buffer");
}
