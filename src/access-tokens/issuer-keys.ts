import type { CryptoKey, FlattenedJWSInput, JWTHeaderParameters } from "jose";
import { Egress } from "../egress/egress.ts";
import { parseJson } from "../json/parse.ts";
import type { JsonBounds } from "../json/refusal.ts";
import { isJsonObject, type JsonObject } from "../json/value.ts";
import type { NetGrant } from "../policy/grant/net-grant.ts";
import { AccessTokenError, type AccessTokenOptions, isTrustworthy } from "./options.ts";

/** The library for JSON Web Tokens. */
export type Jose = typeof import("jose");

/** Milliseconds for a document. */
const TIMEOUT_MS = 5_000;

/** The most bytes of a document. A key with its certificates has a few thousand. */
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
export class IssuerKeys {
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
export async function loadJose(): Promise<Jose> {
  try {
    return await import("jose");
  } catch (cause) {
    throw new TypeError("verifying access tokens needs the package jose: install it", { cause });
  }
}
