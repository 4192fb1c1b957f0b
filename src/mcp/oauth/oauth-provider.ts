import { randomBytes, timingSafeEqual } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type {
  OAuthClientInformationContext,
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import { AuthorizationError } from "../../sandboxes/remote/mcp-client/unsent.ts";
import type { CredentialFile } from "./credential-file.ts";
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

const PATH = "/callback";

/** The longest answer of a browser, in characters. */
const MAX_URL = 16_384;

/** Waits on a loopback address for the browser that comes back from an authorization server (RFC 8252, section 7.3). */
export class Loopback implements AsyncDisposable {
  /** An unguessable value, which the browser brings back. */
  readonly state: string = randomBytes(32).toString("base64url");
  readonly #server: Server;
  readonly #answer = Promise.withResolvers<URLSearchParams>();

  private constructor() {
    this.#server = createServer({ maxHeaderSize: 2 * MAX_URL }, (request, response) => {
      const { method, url = "" } = request;
      const asked = url.length <= MAX_URL ? URL.parse(url, "http://127.0.0.1") : null;
      response.setHeader("content-type", "text/plain; charset=utf-8");
      response.setHeader("connection", "close");
      if (method !== "GET" || asked?.pathname !== PATH)
        response.writeHead(404).end("There is nothing here.\n");
      else if (!isSame(asked.searchParams.get("state"), this.state)) {
        response.writeHead(400).end("This is not the answer to the login that is waiting.\n");
      } else {
        response.end("Sandgate has the answer. You can close this page.\n");
        this.#answer.resolve(asked.searchParams);
      }
    });
  }

  /**
   * Listens on 127.0.0.1.
   *
   * @param port Default: a free one.
   * @throws {AuthorizationError} if the port cannot be had.
   */
  static async open(port = 0): Promise<Loopback> {
    const loopback = new Loopback();
    await new Promise<void>((resolve, reject) => {
      loopback.#server.once("error", ({ code }: NodeJS.ErrnoException) =>
        reject(new AuthorizationError(`the port ${port} for the browser's answer cannot be had: ${code}`)),
      );
      loopback.#server.listen(port, "127.0.0.1", resolve);
    });
    return loopback;
  }

  /** Where the browser is sent. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${PATH}`;
  }

  /** The parameters of the first answer that has the right state. */
  get answer(): Promise<URLSearchParams> {
    return this.#answer.promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function isSame(given: string | null, expected: string): boolean {
  const [a, b] = [Buffer.from(given ?? ""), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
