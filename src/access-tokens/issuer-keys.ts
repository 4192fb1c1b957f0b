import type { CryptoKey, FlattenedJWSInput, JWTHeaderParameters } from "jose";
import { AccessTokenError } from "./access-token-error.ts";
import { findKeys } from "./find-keys.ts";
import { IssuerDocuments } from "./issuer-documents.ts";
import type { Jose } from "./load-jose.ts";
import type { AccessTokenOptions } from "./options.ts";

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
