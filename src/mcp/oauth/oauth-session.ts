import type { FetchLike } from "@modelcontextprotocol/client";
import { race } from "../../base/timers.ts";
import { EgressError } from "../../egress/egress-error.ts";
import { loadSdk, type Sdk } from "../../sandboxes/remote/mcp-client/sdk.ts";
import { AuthorizationError } from "../../sandboxes/remote/mcp-client/unsent.ts";
import { REQUEST_MS } from "../../sandboxes/remote/mcp-client/wire.ts";
import { CredentialFile, type Credentials } from "./credential-file.ts";
import type { OAuthOptions } from "./oauth-options.ts";
import { configuredClient, LoginProvider, Loopback } from "./oauth-provider.ts";

/** Milliseconds in which a person can give access. */
export const LOGIN_MS: number = 5 * 60_000;

/** Shorter tokens are guessed anyway. */
const MIN_SECRET_LENGTH = 8;

/** The challenge of a 401, or of a 403 for a missing scope. */
export interface Challenge {
  readonly resourceMetadataUrl?: URL | undefined;
  readonly scope?: string | undefined;
  /** Whether the tokens are good, but not for this. */
  readonly isInsufficient: boolean;
}

/** What a {@link OAuthSession} needs. */
interface OAuthSessionOptions {
  /** The name of the server in the configuration. */
  readonly server: string;
  readonly url: string;
  readonly oauth: OAuthOptions;
  /** Sends requests to the server, and to authorization servers that are granted. */
  readonly fetch: FetchLike;
  /** Whether an authorization server can be at a URL. */
  readonly isGranted: (url: URL) => boolean;
}

/** The tokens for one server, and how they are renewed. One renewal runs at a time, however many requests wait for it. */
export class OAuthSession {
  readonly #options: OAuthSessionOptions;
  readonly #file: CredentialFile;
  #known: Credentials | undefined;
  #renewing: Promise<void> | undefined;

  constructor(options: OAuthSessionOptions) {
    this.#options = options;
    this.#file = new CredentialFile(options.oauth.directory, options.server, options.url);
  }

  /**
   * Returns the access token; `undefined` if there is none.
   *
   * @throws {AuthorizationError} if other users can read the file with the tokens.
   */
  async token(): Promise<string | undefined> {
    this.#known ??= await this.#file.read();
    return this.#known.tokens?.access_token;
  }

  /**
   * Replaces tokens that a server refused.
   *
   * @param refused The access token of the request.
   * @throws {AuthorizationError} if that needs a person, or the person denied access.
   */
  async renew(challenge: Challenge, refused: string | undefined): Promise<void> {
    this.#known = await this.#file.read();
    // Another request, or another process, was faster.
    if (this.#known.tokens !== undefined && this.#known.tokens.access_token !== refused) return;
    this.#renewing ??= this.#renew(challenge).finally(() => {
      this.#renewing = undefined;
    });
    await this.#renewing;
  }

  /** Whether the tokens have every scope that a server asks for: other tokens would be refused as well. */
  async covers({ scope }: Challenge): Promise<boolean> {
    const sdk = await loadSdk();
    return !sdk.isStrictScopeSuperset(scope, this.#known?.tokens?.scope);
  }

  /** Returns a text without the tokens and the client's secret, also a JSON text, which stays one. */
  redact(text: string): string {
    const { tokens, client } = this.#known ?? {};
    const { clientSecret } = this.#options.oauth;
    const secrets = [tokens?.access_token, tokens?.refresh_token, client?.client_secret, clientSecret];
    return secrets.reduce<string>((hidden, secret = "") => {
      // In JSON texts it is escaped, so that it never has a quote that ends a string. A short one would be found everywhere.
      if (secret.length < MIN_SECRET_LENGTH) return hidden;
      return hidden.replaceAll(JSON.stringify(secret).slice(1, -1), "[token]");
    }, text);
  }

  async #renew(challenge: Challenge): Promise<void> {
    const sdk = await loadSdk();
    const channel = authorizationChannel(this.#options.fetch, this.#options.isGranted);
    try {
      if (!challenge.isInsufficient && (await this.#refresh(sdk, channel, challenge))) return;
      await this.#logIn(sdk, channel, challenge);
    } catch (error) {
      // The next login begins with another registration.
      if (error instanceof TokenRefusal && error.isForClient) await this.#file.write({});
      throw channel.refusal ?? this.#failure(sdk, error);
    } finally {
      this.#known = await this.#file.read();
    }
  }

  /** Uses the refresh token. Returns whether that gave tokens; without a refresh token, or with a stale one, it does not. */
  async #refresh(sdk: Sdk, { fetch }: AuthorizationChannel, challenge: Challenge): Promise<boolean> {
    const { url, oauth } = this.#options;
    const { tokens, client: registered } = await this.#file.read();
    if (tokens?.refresh_token === undefined) return false;
    const { resourceMetadataUrl } = challenge;
    const found = await sdk.discoverOAuthServerInfo(url, {
      ...(resourceMetadataUrl && { resourceMetadataUrl }),
      fetchFn: fetch,
    });
    const { authorizationServerUrl, authorizationServerMetadata: metadata, resourceMetadata } = found;
    const issuer = metadata?.issuer ?? String(authorizationServerUrl);
    const client = configuredClient(oauth, issuer) ?? registered;
    // Credentials are never sent to another authorization server than the one that they are from.
    if (client === undefined || client.issuer !== issuer || tokens.issuer !== issuer) return false;
    const provider = new LoginProvider(oauth, this.#file, undefined, undefined);
    const resource = await sdk.selectResourceURL(url, provider, resourceMetadata);
    try {
      const renewed = await sdk.refreshAuthorization(authorizationServerUrl, {
        ...(metadata && { metadata }),
        clientInformation: client,
        refreshToken: tokens.refresh_token,
        ...(resource && resourceMetadata && { resource: resourceMetadata.resource }),
        fetchFn: fetch,
      });
      const scope = renewed.scope ?? tokens.scope;
      await this.#file.write({
        ...(registered && { client: registered }),
        tokens: { ...renewed, issuer, ...(scope !== undefined && { scope }) },
      });
      return true;
    } catch (error) {
      if (error instanceof sdk.OAuthError || error instanceof TokenRefusal) return false;
      throw error;
    }
  }

  /** Gets new tokens: from a person, or with the client's own credentials. */
  async #logIn(
    sdk: Sdk,
    channel: AuthorizationChannel,
    { scope: wanted, resourceMetadataUrl, isInsufficient }: Challenge,
  ): Promise<void> {
    const { url, oauth, server } = this.#options;
    const granted = isInsufficient ? this.#known?.tokens?.scope : undefined;
    const scope = sdk.computeScopeUnion(granted, wanted, oauth.scope);
    const asked = {
      serverUrl: url,
      fetchFn: channel.fetch,
      ...(scope !== undefined && { scope }),
      ...(resourceMetadataUrl && { resourceMetadataUrl }),
    };
    if (oauth.grant === "client_credentials") {
      await sdk.auth(new LoginProvider(oauth, this.#file, undefined, scope), asked);
      return;
    }
    if (oauth.onAuthorize === undefined) throw loginRequired(server, isInsufficient ? scope : undefined);
    await using loopback = await Loopback.open(oauth.callbackPort);
    const provider = new LoginProvider(oauth, this.#file, loopback, scope);
    await sdk.auth(provider, asked);
    if (provider.authorizationUrl === undefined) return;
    channel.check(provider.authorizationUrl);
    oauth.onAuthorize(provider.authorizationUrl.href);
    const answer = await race(loopback.answer, { timeoutMs: LOGIN_MS });
    if (!(answer instanceof URLSearchParams))
      throw new AuthorizationError("no person gave access within five minutes");
    const authorizationCode = codeOf(sdk, answer, provider);
    const iss = answer.get("iss");
    await sdk.auth(provider, { ...asked, authorizationCode, ...(iss !== null && { iss }) });
  }

  /** Error texts of servers may repeat the request. */
  #failure(sdk: Sdk, error: unknown): AuthorizationError {
    if (error instanceof AuthorizationError) return error;
    if (error instanceof sdk.OAuthError) {
      return new AuthorizationError(`the authorization server refuses: ${errorCode(error.code)}`);
    }
    if (error instanceof sdk.RegistrationRejectedError) {
      return new AuthorizationError(
        `the authorization server registers no clients (HTTP ${error.status}): set oauth.clientId`,
      );
    }
    const why = this.redact(error instanceof Error ? error.message : String(error)).slice(0, 500);
    return new AuthorizationError(`there are no tokens for the server: ${why}`);
  }
}

function loginRequired(server: string, scope: string | undefined): AuthorizationError {
  const missing = scope === undefined ? "" : `its oauth.scope must have '${scope}': then `;
  return new AuthorizationError(
    `the server wants a login: ${missing}run 'sandgate mcp login ${server} --config FILE'`,
  );
}

/** An error is read only from the authorization server that was asked (RFC 9207). */
function codeOf(sdk: Sdk, answer: URLSearchParams, provider: LoginProvider): string {
  const code = answer.get("code");
  if (code !== null) return code;
  const metadata = provider.discoveryState()?.authorizationServerMetadata;
  sdk.validateAuthorizationResponseIssuer({
    iss: answer.get("iss") ?? undefined,
    expectedIssuer: metadata?.issuer,
    issParameterSupported: metadata?.authorization_response_iss_parameter_supported === true,
  });
  throw new AuthorizationError(`access was not given: ${errorCode(answer.get("error"))}`);
}

/** The codes of RFC 6749 are short words. */
function errorCode(code: string | null): string {
  return code !== null && /^[a-z_]{1,64}$/.test(code) ? code : "unknown_error";
}

/** Errors of RFC 6749, section 5.2, after which the client has to be registered again. */
const CLIENT_ERRORS: readonly unknown[] = ["invalid_client", "unauthorized_client"];

/**
 * Errors for which the SDK would print to the console what the authorization server says, which may repeat secrets, and send
 * the same request once more.
 */
const FINAL_ERRORS: readonly unknown[] = [...CLIENT_ERRORS, "invalid_grant", "invalid_dpop_proof"];

/** An authorization server gives no tokens. */
class TokenRefusal extends AuthorizationError {
  override readonly name = "TokenRefusal";
  /** Whether it does not accept the client, rather than the code or the refresh token. */
  readonly isForClient: boolean;

  /** @param code One of {@link FINAL_ERRORS}. */
  constructor(code: string) {
    super(`the authorization server refuses: ${code}`);
    this.isForClient = CLIENT_ERRORS.includes(code);
  }
}

/** How one renewal of tokens reaches authorization servers. */
interface AuthorizationChannel {
  readonly fetch: FetchLike;
  /**
   * Checks a URL that a browser is sent to.
   *
   * @throws {AuthorizationError} if it is not granted.
   */
  check(url: URL): void;
  /** Why it ended: an address that is not granted. The SDK would look for another one in its place. */
  readonly refusal: AuthorizationError | undefined;
}

/**
 * Sends the requests of one renewal, each with a deadline. After the first one that is not granted, it sends no other. A request
 * that is refused for good rejects with a {@link TokenRefusal}.
 *
 * @param isGranted Whether an authorization server can be at a URL. Metadata can also be elsewhere: they are sent nothing.
 */
function authorizationChannel(fetch: FetchLike, isGranted: (url: URL) => boolean): AuthorizationChannel {
  let refusal: AuthorizationError | undefined;
  return {
    fetch: async (url, init) => {
      const asked = new URL(url);
      const isPost = (init?.method ?? "GET") !== "GET";
      if (isPost && !isGranted(asked)) refusal ??= notGranted(asked);
      if (refusal !== undefined) throw refusal;
      let response: Response;
      try {
        response = await fetch(url, { ...init, signal: AbortSignal.timeout(REQUEST_MS) });
      } catch (error) {
        if (isDenied(error)) refusal = notGranted(asked);
        throw refusal ?? error;
      }
      if (isPost) await refuseFinal(response);
      return response;
    },
    check: (url) => {
      if (!isGranted(url)) throw notGranted(url);
    },
    get refusal() {
      return refusal;
    },
  };
}

/** @throws {TokenRefusal} if the SDK would read one of {@link FINAL_ERRORS}, which it does whatever the status is. */
async function refuseFinal(response: Response): Promise<void> {
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => undefined);
  const code = typeof body === "object" && body !== null && "error" in body ? body.error : undefined;
  if (typeof code === "string" && FINAL_ERRORS.includes(code)) throw new TokenRefusal(code);
}

function isDenied(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof EgressError && (cause.code === "origin_denied" || cause.code === "address_denied");
}

function notGranted({ origin }: URL): AuthorizationError {
  return new AuthorizationError(
    `its authorization server is at ${origin}, which is not granted: if you trust it, add it to oauth.net`,
  );
}
