import type {
  OAuthClientInformationContext,
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import type { CredentialFile } from "./credential-file.ts";
import type { Loopback } from "./loopback.ts";
import type { OAuthOptions } from "./oauth-options.ts";

/** The state of one login, which the SDK reads between its steps. Stores the results in the file. */
export class LoginProvider implements OAuthClientProvider {
  /** The URL for the person; set once the SDK wants one. */
  authorizationUrl: URL | undefined;
  readonly clientMetadataUrl?: string;
  readonly #options: OAuthOptions;
  readonly #file: CredentialFile;
  readonly #loopback: Loopback | undefined;
  readonly #scope: string | undefined;
  #verifier = "";
  #discovered: OAuthDiscoveryState | undefined;

  /** @param loopback `undefined` for the grant `client_credentials`. */
  constructor(
    options: OAuthOptions,
    file: CredentialFile,
    loopback: Loopback | undefined,
    scope: string | undefined,
  ) {
    this.#options = options;
    this.#file = file;
    this.#loopback = loopback;
    this.#scope = scope;
    if (options.clientMetadataUrl !== undefined) this.clientMetadataUrl = options.clientMetadataUrl;
  }

  get redirectUrl(): string | undefined {
    return this.#loopback?.url;
  }

  get clientMetadata(): OAuthClientMetadata {
    return {
      client_name: "Sandgate",
      redirect_uris: this.#loopback === undefined ? [] : [this.#loopback.url],
      grant_types:
        this.#loopback === undefined ? ["client_credentials"] : ["authorization_code", "refresh_token"],
      response_types: this.#loopback === undefined ? [] : ["code"],
    };
  }

  state(): string {
    return this.#loopback?.state ?? "";
  }

  /** A registration is good for its own authorization server, and for the addresses that it names. */
  async clientInformation(
    ctx?: OAuthClientInformationContext,
  ): Promise<StoredOAuthClientInformation | undefined> {
    const configured = configuredClient(this.#options, ctx?.issuer);
    if (configured !== undefined) return configured;
    const { client } = await this.#file.read();
    if (client === undefined || client.issuer !== ctx?.issuer) return undefined;
    const redirects = "redirect_uris" in client ? client.redirect_uris : undefined;
    const isUsable = redirects === undefined || this.#loopback === undefined;
    return isUsable || redirects.includes(this.#loopback.url) ? client : undefined;
  }

  async saveClientInformation(client: StoredOAuthClientInformation): Promise<void> {
    if (this.#options.clientId !== undefined) return;
    const { tokens } = await this.#file.read();
    await this.#file.write({ client, ...(tokens && { tokens }) });
  }

  /** A login needs no earlier tokens. */
  tokens(): undefined {
    return undefined;
  }

  async saveTokens(tokens: StoredOAuthTokens): Promise<void> {
    const { client } = await this.#file.read();
    // Without a scope, the tokens have the one that was asked for (RFC 6749, section 5.1).
    const scope = tokens.scope ?? this.authorizationUrl?.searchParams.get("scope") ?? this.#scope;
    await this.#file.write({
      ...(client && { client }),
      tokens: { ...tokens, ...(scope != null && { scope }) },
    });
  }

  redirectToAuthorization(url: URL): void {
    this.authorizationUrl = url;
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#verifier;
  }

  saveDiscoveryState(state: OAuthDiscoveryState): void {
    this.#discovered = state;
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#discovered;
  }

  prepareTokenRequest(scope?: string): URLSearchParams | undefined {
    if (this.#loopback !== undefined) return undefined;
    return new URLSearchParams({ grant_type: "client_credentials", ...(scope !== undefined && { scope }) });
  }
}

/** The client of the configuration, which is used at every granted authorization server. */
export function configuredClient(
  { clientId, clientSecret }: OAuthOptions,
  issuer: string | undefined,
): StoredOAuthClientInformation | undefined {
  if (clientId === undefined) return undefined;
  return {
    client_id: clientId,
    ...(clientSecret !== undefined && { client_secret: clientSecret }),
    ...(issuer !== undefined && { issuer }),
  };
}
