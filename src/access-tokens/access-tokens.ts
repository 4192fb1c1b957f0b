import type { CryptoKey, FlattenedJWSInput, JWTHeaderParameters } from "jose";
import { type OptionNames, refuseUnknown } from "../base/unknown-names.ts";
import { Egress } from "../egress/egress.ts";
import { parseJson } from "../json/parse.ts";
import type { JsonBounds } from "../json/refusal.ts";
import { isJsonObject, type JsonObject } from "../json/value.ts";
import type { NetGrant } from "../policy/grant/net-grant.ts";
import {
  AccessTokenError,
  type AccessTokenOptions,
  checkAccessTokenOptions,
  isTrustworthy,
  type PrincipalClaims,
  SIGNATURE_ALGORITHMS,
} from "./options.ts";
import { type TokenSubject, tokenSubject } from "./token-principal.ts";

const NAMES: OptionNames<AccessTokenOptions> = {
  resource: true,
  issuer: true,
  jwksUri: true,
  scopes: true,
  tokenType: true,
  algorithms: true,
  principal: true,
};
const CLAIM_NAMES: OptionNames<PrincipalClaims> = { roles: true, attributes: true };

/** Longer tokens are refused unread. */
const MAX_CHARS = 8_192;
/** Seconds by which the clocks of the authorization server and of this machine may differ. */
const LEEWAY_S = 30;
const COMPACT = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** An access token that was verified. */
interface VerifiedToken extends TokenSubject {
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/**
 * Verifies the access tokens of one authorization server: JWTs of RFC 9068, whose audience is the resource (RFC 8707). The
 * tokens are only verified: they are not retained, and not passed on.
 */
export class AccessTokens {
  readonly #jose: Jose;
  readonly #options: AccessTokenOptions;
  readonly #keys: IssuerKeys;

  private constructor(jose: Jose, options: AccessTokenOptions) {
    this.#jose = jose;
    this.#options = options;
    this.#keys = new IssuerKeys(jose, options);
  }

  /** @throws {TypeError} as a rejection, if an option is invalid, or the package `jose` is not installed. */
  static async open(options: AccessTokenOptions): Promise<AccessTokens> {
    refuseUnknown(options, NAMES, "access tokens");
    if (options.principal !== undefined)
      refuseUnknown(options.principal, CLAIM_NAMES, "principal of access tokens");
    checkAccessTokenOptions(options);
    return new AccessTokens(await loadJose(), options);
  }

  /**
   * Verifies a token.
   *
   * @throws {AccessTokenError} as a rejection.
   */
  async verify(token: string): Promise<VerifiedToken> {
    if (token.length > MAX_CHARS || !COMPACT.test(token))
      throw invalid("the access token is not a JWT, or too long");
    const {
      issuer,
      resource,
      tokenType = "at+jwt",
      algorithms = SIGNATURE_ALGORITHMS,
      scopes = [],
    } = this.#options;
    const { payload } = await this.#jose
      .jwtVerify(token, (header, input) => this.#keys.find(header, input), {
        issuer,
        audience: resource,
        typ: tokenType,
        algorithms: [...algorithms],
        clockTolerance: LEEWAY_S,
        requiredClaims: ["exp", "sub"],
      })
      .catch((error: unknown) => {
        throw error instanceof AccessTokenError ? error : invalid(this.#reasonOf(error));
      });
    const subject = this.#subjectOf(payload);
    if (!scopes.every((scope) => subject.scopes.includes(scope))) {
      throw new AccessTokenError(
        "insufficient_scope",
        `the access token must have the scopes ${scopes.join(" ")}`,
      );
    }
    return { ...subject, expiresAt: ((payload.exp ?? 0) + LEEWAY_S) * 1_000 };
  }

  #reasonOf(error: unknown): string {
    const { JWTExpired, JWTClaimValidationFailed } = this.#jose.errors;
    if (error instanceof JWTExpired) return "the access token has expired";
    if (error instanceof JWTClaimValidationFailed) {
      return `the access token's ${REQUIRED.get(error.claim) ?? "claims"} cannot be accepted here`;
    }
    return "the access token has no valid signature of the authorization server";
  }

  #subjectOf(claims: Readonly<Record<string, unknown>>): TokenSubject {
    try {
      return tokenSubject(claims, this.#options);
    } catch {
      throw invalid("the access token's claims cannot be accepted here");
    }
  }

  /** Closes the connections to the authorization server. */
  close(): Promise<void> {
    return this.#keys.close();
  }
}

/** The claims that are checked, in words. */
const REQUIRED: ReadonlyMap<string, string> = new Map([
  ["iss", "issuer"],
  ["aud", "audience"],
  ["typ", "type"],
  ["nbf", "time of validity"],
]);

/** The errors of jose have the claims of the token, which no log must have: they are not causes. */
function invalid(message: string): AccessTokenError {
  return new AccessTokenError("invalid_token", message);
}

/** The library for JSON Web Tokens. */
type Jose = typeof import("jose");

/** Milliseconds for a document. */
const TIMEOUT_MS = 5_000;

/** Maximum number of bytes of a document. A key with its certificates has a few thousand. */
const MAX_BYTES = 262_144;

const BOUNDS: JsonBounds = Object.freeze({ length: MAX_BYTES, values: 10_000, members: 10_000 });

/** Where the configuration says that a server is, it may also be in a private network. */
const ANY_ADDRESS = ["0.0.0.0/0", "::/0"];

/** Fetches the documents of an authorization server: JSON objects of bounded size, without redirects. */
class IssuerDocuments {
  readonly #egress = new Egress();
  /** The origins that the configuration names. */
  readonly #configured: ReadonlySet<string>;

  constructor(configured: readonly URL[]) {
    this.#configured = new Set(configured.map(({ origin }) => origin));
  }

  /**
   * Fetches a document.
   *
   * @param url Of another origin than the configured ones, it must be at a public address.
   * @returns `undefined` if it does not exist.
   * @throws {Error} as a rejection, if it cannot be fetched, or is not a JSON object.
   */
  async get(url: URL): Promise<JsonObject | undefined> {
    const { origin } = url;
    const grant: NetGrant = this.#configured.has(origin) ? { origin, addresses: ANY_ADDRESS } : origin;
    const { status, body } = await this.#egress.send({
      method: "GET",
      url,
      headers: { accept: "application/json, application/jwk-set+json" },
      grants: [grant],
      limits: { timeoutMs: TIMEOUT_MS, bodyBytes: MAX_BYTES, failureBodyBytes: 0 },
    });
    if (status >= 400 && status < 500) return undefined;
    if (status !== 200) throw new Error(`${url.href} responded with ${status}`);
    const parsed = parseJson(body.toString("utf8"), BOUNDS);
    if (!("value" in parsed)) throw new Error(`${url.href} is not valid JSON: ${parsed.reason}`);
    if (!isJsonObject(parsed.value)) throw new Error(`${url.href} is not a JSON object`);
    return parsed.value;
  }

  /** Closes every connection. */
  close(): Promise<void> {
    return this.#egress.close();
  }
}

/** Milliseconds for which keys are used without asking for them again: so long, a withdrawn key may be accepted. */
const MAX_AGE_MS = 5 * 60_000;
/** Milliseconds before a token with an unknown key has the keys fetched again. */
const COOLDOWN_MS = 30_000;
/** Milliseconds before the authorization server is asked again after it failed. */
const RETRY_MS = 10_000;
/** More keys than this are not those of an authorization server. */
const MAX_KEYS = 100;

type RemoteKeys = ReturnType<Jose["createRemoteJWKSet"]>;

/**
 * The public keys of an issuer. They are fetched when the first token comes, and again when they are old or a token has an
 * unknown key, but never as often as tokens come.
 */
class IssuerKeys {
  readonly #jose: Jose;
  readonly #options: Pick<AccessTokenOptions, "issuer" | "jwksUri">;
  readonly #documents: IssuerDocuments;
  #keys: Promise<RemoteKeys> | undefined;
  #failure: { readonly error: AccessTokenError; readonly until: number } | undefined;

  constructor(jose: Jose, options: Pick<AccessTokenOptions, "issuer" | "jwksUri">) {
    this.#jose = jose;
    this.#options = options;
    const { issuer, jwksUri = issuer } = options;
    this.#documents = new IssuerDocuments([new URL(issuer), new URL(jwksUri)]);
  }

  /**
   * Finds the key of a token.
   *
   * @throws {AccessTokenError} `unavailable`, as a rejection, if the keys cannot be fetched, and errors of jose.
   */
  async find(header: JWTHeaderParameters, token: FlattenedJWSInput): Promise<CryptoKey> {
    this.#keys ??= this.#open();
    const opened = this.#keys;
    let keys: RemoteKeys | undefined;
    try {
      keys = await opened;
      return await keys(header, token);
    } catch (error) {
      // The keys may have moved. Those that are known stay until they are old.
      if (error instanceof AccessTokenError && keys?.fresh !== true && this.#keys === opened) {
        this.#keys = undefined;
      }
      throw error;
    }
  }

  async #open(): Promise<RemoteKeys> {
    const { issuer, jwksUri } = this.#options;
    const url =
      jwksUri === undefined ? await this.#ask(() => findKeys(issuer, this.#documents)) : new URL(jwksUri);
    const { createRemoteJWKSet, customFetch } = this.#jose;
    return createRemoteJWKSet(url, {
      cacheMaxAge: MAX_AGE_MS,
      cooldownDuration: COOLDOWN_MS,
      [customFetch]: () => this.#ask(() => this.#fetch(url)),
    });
  }

  async #fetch(url: URL): Promise<Response> {
    const document = await this.#documents.get(url);
    const keys = document?.["keys"];
    if (!Array.isArray(keys) || keys.length > MAX_KEYS) {
      throw new Error(`${url.href} has no JWK Set with at most ${MAX_KEYS} keys`);
    }
    return Response.json({ keys });
  }

  /** Asks the authorization server for something, unless it failed just before. */
  async #ask<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    if (this.#failure !== undefined && Date.now() < this.#failure.until) throw this.#failure.error;
    try {
      return await work();
    } catch (cause) {
      const message = "the keys of the authorization server could not be fetched: retry later";
      const error = new AccessTokenError("unavailable", message, { cause });
      this.#failure = { error, until: Date.now() + RETRY_MS };
      throw error;
    }
  }

  /** Closes every connection. */
  close(): Promise<void> {
    return this.#documents.close();
  }
}

/**
 * Finds where the keys of an issuer are, by its metadata.
 *
 * @throws {Error} as a rejection, if it has none, or they are those of another issuer (RFC 8414, section 3.3).
 */
async function findKeys(issuer: string, documents: IssuerDocuments): Promise<URL> {
  for (const url of metadataUrls(new URL(issuer))) {
    const metadata = await documents.get(url);
    if (metadata === undefined) continue;
    if (metadata["issuer"] !== issuer) throw new Error(`${url.href} has the metadata of another issuer`);
    const { jwks_uri: written } = metadata;
    const keys = typeof written === "string" ? URL.parse(written) : null;
    if (keys === null || !isTrustworthy(keys)) {
      throw new Error(`${url.href} has no jwks_uri that is an https: URL`);
    }
    return keys;
  }
  throw new Error(`the issuer ${issuer} has no metadata: name its keys with jwksUri`);
}

/** The order of MCP: RFC 8414, OpenID Connect Discovery as RFC 8414 has it, and as it was before. */
function metadataUrls({ origin, pathname }: URL): readonly URL[] {
  const path = pathname.replace(/\/$/, "");
  const urls = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    ...(path === "" ? [] : [`${origin}${path}/.well-known/openid-configuration`]),
  ];
  return urls.map((url) => new URL(url));
}

/**
 * Loads the library on first use: it is an optional peer, which only servers that verify access tokens need.
 *
 * @throws {TypeError} as a rejection, if it is not installed.
 */
async function loadJose(): Promise<Jose> {
  try {
    return await import("jose");
  } catch (cause) {
    throw new TypeError("verifying access tokens needs the package jose: install it", { cause });
  }
}
