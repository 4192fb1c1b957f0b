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
  /** Further bearer tokens. Several can have the same id, also that of a key. Default: none. */
  readonly tokens?: readonly NamedToken[];
}

/** A bearer token, and the id of its principal. */
export interface NamedToken {
  readonly id: string;
  /** At least {@link MIN_TOKEN_LENGTH} characters, and different from all other tokens. */
  readonly token: string;
}

/** The sender of a request. */
export interface Sender {
  /**
   * A name of its own for each credential: `key ID`, `token` or `token INDEX`. Calls of different callers are different
   * calls.
   */
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
  /** The digest of each token. */
  readonly #tokens: { readonly digest: Buffer; readonly sender: Sender }[] = [];
  readonly #services = new Map<string, Principal>();
  #unknownSender: Sender = { caller: "", principal: undefined, isSigned: false };

  /**
   * @param before The authentication that this one replaces.
   * @throws {TypeError} if a key is not a public Ed25519 key, a token is too short or not the only one of its kind, or the
   *   name of `token` is empty or the id of a key.
   */
  constructor(
    { keys, token, tokenName = DEFAULT_TOKEN_NAME, tokens = [] }: Credentials,
    before?: Authentication,
  ) {
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
    if (token !== undefined) this.#add(token, "token", tokenName);
    for (const [index, named] of tokens.entries()) this.#add(named.token, `token ${index}`, named.id);
  }

  #add(token: string, caller: string, id: string): void {
    if (token.length < MIN_TOKEN_LENGTH) {
      throw new TypeError(`the token must have at least ${MIN_TOKEN_LENGTH} characters`);
    }
    const digest = digestOf(token);
    if (this.#tokens.some((known) => known.digest.equals(digest))) {
      throw new TypeError("two credentials have the same token: they could not be told apart");
    }
    this.#tokens.push({ digest, sender: { caller, principal: service(id), isSigned: false } });
  }

  /** Without credentials, all callers are `local`: only this user can connect to the executor's unix socket. */
  assumeLocal(): void {
    this.#unknownSender = { caller: "", principal: service(LOCAL_ID), isSigned: false };
  }

  /** Whether requests without credentials are refused. */
  get isRequired(): boolean {
    return this.#verifier !== undefined || this.#tokens.length > 0;
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
      const key = this.#verifier.verify(message, method === "POST" || method === "PATCH");
      return { caller: `key ${key}`, principal: this.#services.get(key), isSigned: true };
    }
    if (this.#tokens.length > 0 && headers.authorization !== undefined) {
      const [, given = ""] = /^Bearer +([^ ]+)$/i.exec(headers.authorization) ?? [];
      const digest = digestOf(given);
      // Digests have the same length, and reveal nothing about where the tokens differ.
      const [found] = this.#tokens.filter((known) => timingSafeEqual(digest, known.digest));
      if (found !== undefined) return found.sender;
      throw new RemoteProblem("unauthenticated", "the bearer token is wrong");
    }
    const ways = [this.#verifier && "a signature", this.#tokens.length > 0 && "a bearer token"].filter(
      Boolean,
    );
    throw new RemoteProblem("unauthenticated", `the request must have ${ways.join(" or ")}`);
  }
}

function service(id: string): Principal {
  return checkPrincipal({ id, kind: "service" });
}

function digestOf(text: string): Buffer {
  return hash("sha256", text, "buffer");
}
