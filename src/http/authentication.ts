import { hash, type KeyObject, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { checkPrincipal, type Principal } from "../policy/principal.ts";
import { remoteProblem } from "../remote-protocol/problems.ts";
import { COVERED_WITH_BODY, type SignedMessage } from "../remote-protocol/signatures/base.ts";
import { SignatureVerifier } from "../remote-protocol/signatures/verifier.ts";
import { CERTIFICATE_NAME_FORM, clientCertificateOf, isCertificateName } from "./tls/client-certificate.ts";

/** Who sent each request, once that is known, so that a refusal at any later step can say so. */
const principals = new WeakMap<IncomingMessage, Principal>();

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
  /** Names of clients' certificates, which the option `tls.clientCa` has verified. Default: none. */
  readonly certificates?: readonly NamedCertificate[];
}

/** The name of a client's certificate, and the id of its principal. Several can have the same id. */
export interface NamedCertificate {
  readonly id: string;
  /**
   * One of its alternative names or its subject, such as `URI:spiffe://example.org/agent`, `DNS:agent.internal`,
   * `email:agent@example.org` or `subject:CN=agent,O=Example`. Compared as it is written.
   */
  readonly certificate: string;
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
   * A name of its own for each credential, which no other one gets when credentials are reloaded: `key ID`, `token`, for one
   * of several tokens `token DIGEST`, or `certificate NAME`. Calls of different callers are different calls.
   */
  readonly caller: string;
  /** The digest of the key, the token, or the certificate's name and its authorities; empty if the executor has no credentials. */
  readonly credential: string;
  /** Who calls; `undefined` if the executor has no credentials, and other users can reach it. */
  readonly principal: Principal | undefined;
  /** Whether the request is signed, which means that its digest must be checked. */
  readonly isSigned: boolean;
  /** Whether its credential is the certificate of its connection. Default: `false`. */
  readonly isCertified?: true;
  /** When its credential expires, in milliseconds since the epoch. Default: it lasts until it is replaced. */
  readonly expiresAt?: number;
}

/** Minimum length of a token, against brute force. */
export const MIN_TOKEN_LENGTH = 16;

/** The methods of requests whose signatures must cover the digest of the body. */
const BODY_METHODS: readonly string[] = ["POST", "PUT", "PATCH"];

/** The principal's id for callers with the token, unless the credentials name it. */
export const DEFAULT_TOKEN_NAME = "token";

/** The principal's id for all callers over a unix socket, if there are no credentials. */
export const LOCAL_ID = "local";

/** Authenticates the senders of requests. */
export class Authentication {
  readonly #verifier: SignatureVerifier | undefined;
  /** The digest of each token. */
  readonly #tokens: { readonly digest: Buffer; readonly sender: Sender }[] = [];
  /** The senders with keys, by the ids of the keys. */
  readonly #signers = new Map<string, Sender>();
  /** The senders with certificates, by the names of these. */
  readonly #certified = new Map<string, Sender>();
  /** Whether requests without credentials are refused even if no key, token or certificate is configured. */
  readonly #hasOthers: boolean;
  /** The path below which clients reach the server: signatures cover it. */
  readonly basePath: string;
  #unknownSender: Sender = { caller: "", credential: "", principal: undefined, isSigned: false };

  /**
   * @param options.before The authentication that this one replaces.
   * @param options.hasOthers Whether other code checks credentials, too. Default: as before; `false` at
   *   first.
   * @param options.authorities The digest of the authorities of clients' certificates. Default: there are
   *   none.
   * @param options.basePath The path below which clients reach the server; it is removed from requests.
   *   Default: as before; empty at first.
   * @throws {TypeError} if a key is not a public Ed25519 key, a token is too short or not the only one of its
   *   kind, the name of `token` is empty or the id of a key, or there are certificates without authorities.
   */
  constructor(
    { keys, token, tokenName = DEFAULT_TOKEN_NAME, tokens = [], certificates = [] }: Credentials,
    { before, hasOthers, authorities = "", basePath }: AuthenticationOptions = {},
  ) {
    this.basePath = basePath ?? (before === undefined ? "" : before.basePath);
    this.#hasOthers = hasOthers ?? (before === undefined ? false : before.#hasOthers);
    if (keys !== undefined && keys.size > 0) {
      const verifier = before === undefined ? undefined : before.#verifier;
      this.#verifier = new SignatureVerifier(keys, Date.now(), verifier);
    }
    if (before !== undefined) this.#unknownSender = before.#unknownSender;
    for (const [id, key] of keys ?? []) this.#signers.set(id, signer(id, key));
    if (token !== undefined && this.#signers.has(tokenName)) {
      throw new TypeError(
        `the token and a key have the same name '${tokenName}': a policy could not tell them apart`,
      );
    }
    if (token !== undefined) this.#add(token, "token", tokenName);
    for (const named of tokens) this.#add(named.token, callerOf(named), named.id);
    for (const named of certificates) this.#addCertificate(named, authorities);
  }

  #addCertificate(named: NamedCertificate, authorities: string): void {
    const { id, certificate } = named;
    if (authorities === "") throw new TypeError("certificates of clients need tls.clientCa");
    if (!isCertificateName(certificate))
      throw new TypeError(`the certificate '${certificate}' must be ${CERTIFICATE_NAME_FORM}`);
    if (this.#certified.has(certificate))
      throw new TypeError("two credentials have the same certificate: they could not be told apart");
    const credential = hash("sha256", `${authorities} ${certificate}`);
    const sender = {
      caller: certifiedCallerOf(named),
      credential,
      principal: service(id),
      isSigned: false,
      isCertified: true as const,
    };
    this.#certified.set(certificate, sender);
  }

  #add(token: string, caller: string, id: string): void {
    if (token.length < MIN_TOKEN_LENGTH) {
      throw new TypeError(`the token must have at least ${MIN_TOKEN_LENGTH} characters`);
    }
    const digest = digestOf(token);
    if (this.#tokens.some((known) => known.digest.equals(digest))) {
      throw new TypeError("two credentials have the same token: they could not be told apart");
    }
    const credential = digest.toString("hex");
    this.#tokens.push({ digest, sender: { caller, credential, principal: service(id), isSigned: false } });
  }

  /** Without credentials, all callers are `local`: only this user can connect to the executor's unix socket. */
  assumeLocal(): void {
    this.#unknownSender = { ...this.#unknownSender, principal: service(LOCAL_ID) };
  }

  /** Whether requests without credentials are refused. */
  get isRequired(): boolean {
    return (
      this.#hasOthers || this.#verifier !== undefined || this.#tokens.length > 0 || this.#certified.size > 0
    );
  }

  /** Whether a sender that was authenticated before a reload still has its credential, for the same principal. */
  isCurrent({ caller, credential, principal }: Sender): boolean {
    if (!this.isRequired) return credential === "";
    const tokens = this.#tokens.map(({ sender }) => sender);
    const senders = [...this.#signers.values(), ...tokens, ...this.#certified.values()];
    return senders.some(
      (known) =>
        known.caller === caller && known.credential === credential && known.principal?.id === principal?.id,
    );
  }

  /** @throws {RequestRefusal} `unauthenticated` unless the sender {@link isCurrent}. */
  refuseUnlessCurrent(sender: Sender): void {
    if (!this.isCurrent(sender)) throw remoteProblem("unauthenticated", "the credential was revoked");
  }

  /** Returns the sender with a bearer token; `undefined` if the token is unknown. */
  senderOf(token: string): Sender | undefined {
    const digest = digestOf(token);
    // Digests have the same length, and reveal nothing about where the tokens differ.
    const [found] = this.#tokens.filter((known) => timingSafeEqual(digest, known.digest));
    return found?.sender;
  }

  /**
   * Authenticates the sender of a request. If the credentials may be replaced meanwhile, use `authenticate`.
   *
   * @param authority The host, which has been checked.
   * @param covered What a signature must cover in addition. Default: the body, if the method has one.
   * @throws {RequestRefusal} `unauthenticated`, and those of `SignatureVerifier.verify`, as a rejection.
   */
  async check(
    request: IncomingMessage,
    authority: string,
    covered: readonly string[] = BODY_METHODS.includes(request.method ?? "") ? COVERED_WITH_BODY : [],
  ): Promise<Sender> {
    const { method = "", url = "", headers } = request;
    if (!this.isRequired) return this.#unknownSender;
    if (this.#verifier !== undefined && headers["signature-input"] !== undefined) {
      const message = {
        method,
        authority,
        path: this.basePath + url,
        headers: headers as SignedMessage["headers"],
      };
      const key = await this.#verifier.verify(message, covered);
      const sender = this.#signers.get(key);
      // The verifier has these keys only.
      if (sender !== undefined) return sender;
    }
    if (this.#tokens.length > 0 && headers.authorization !== undefined) {
      const [, given = ""] = /^Bearer +([^ ]+)$/i.exec(headers.authorization) ?? [];
      const sender = this.senderOf(given);
      if (sender !== undefined) return sender;
      throw remoteProblem("unauthenticated", "the bearer token is wrong");
    }
    const certified = this.#senderWithCertificate(request);
    if (certified !== undefined) return certified;
    const ways = [
      this.#verifier && "a signature",
      this.#tokens.length > 0 && "a bearer token",
      this.#certified.size > 0 && "a client certificate that is known here",
    ].filter(Boolean);
    const way = ways.length === 0 ? "a credential, and the server has none for this path" : ways.join(" or ");
    throw remoteProblem("unauthenticated", `the request must have ${way}`);
  }

  /**
   * @returns `undefined` if the client has no certificate, or one that no credential names.
   * @throws {RequestRefusal} `unauthenticated` if the certificate must not be used.
   */
  #senderWithCertificate({ socket, headers }: IncomingMessage): Sender | undefined {
    const certificate = this.#certified.size === 0 ? undefined : clientCertificateOf(socket);
    if (certificate === undefined) return undefined;
    // The connection may be older than that.
    if (!(certificate.expiresAt > Date.now()))
      throw remoteProblem("unauthenticated", "the client's certificate expired");
    // Browsers also send certificates with requests that other sites cause.
    const { "sec-fetch-site": site = "none" } = headers;
    if (site !== "none" && site !== "same-origin")
      throw remoteProblem("unauthenticated", "a page of another site must not use a client certificate");
    const senders = Array.from(certificate.names, (name) => this.#certified.get(name) ?? []).flat();
    if (senders.length > 1)
      throw remoteProblem("unauthenticated", "the client's certificate is that of several credentials");
    return senders[0];
  }
}

/** Options of {@link Authentication}. */
interface AuthenticationOptions {
  readonly before?: Authentication;
  readonly hasOthers?: boolean;
  readonly authorities?: string;
  readonly basePath?: string;
}

/** The name of the sender with a certificate: see {@link Sender.caller}. */
export function certifiedCallerOf({ certificate }: Pick<NamedCertificate, "certificate">): string {
  return `certificate ${certificate}`;
}

/** The name of the sender with one of several tokens: see {@link Sender.caller}. */
export function callerOf({ token }: Pick<NamedToken, "token">): string {
  return `token ${digestOf(token).toString("hex")}`;
}

function signer(id: string, key: KeyObject): Sender {
  const credential = hash("sha256", key.export({ type: "spki", format: "der" }), "hex");
  return { caller: `key ${id}`, credential, principal: service(id), isSigned: true };
}

function service(id: string): Principal {
  return checkPrincipal({ id, kind: "service" });
}

function digestOf(text: string): Buffer {
  return hash("sha256", text, "buffer");
}

/** Remembers who sent a request. */
export function noteSender(request: IncomingMessage, { principal }: Pick<Sender, "principal">): void {
  if (principal !== undefined) principals.set(request, principal);
}

/** Returns who sent a request, as it was authenticated; `undefined` if it was not. */
export function principalOf(request: IncomingMessage): Principal | undefined {
  return principals.get(request);
}

/**
 * Authenticates the sender of a request. A sender whose credential is replaced meanwhile is refused.
 *
 * @param authority The host, which has been checked.
 * @param covered What a signature must cover in addition. Default: the body, if the method has one.
 * @throws {RequestRefusal} as `Authentication.check`, as a rejection.
 */
export async function authenticate(
  guards: { readonly authentication: Authentication },
  request: IncomingMessage,
  authority: string,
  covered?: readonly string[],
): Promise<Sender> {
  const { authentication } = guards;
  const sender = await authentication.check(request, authority, covered);
  noteSender(request, sender);
  if (guards.authentication !== authentication) guards.authentication.refuseUnlessCurrent(sender);
  return sender;
}
