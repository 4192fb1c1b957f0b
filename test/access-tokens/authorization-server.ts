import { createHash, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { type CryptoKey, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";
import { onTestFinished } from "vitest";

interface SigningKey {
  readonly kid: string;
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
}

/** What a code or a refresh token was given for. */
interface Authorised {
  readonly clientId: string;
  readonly scope: string;
  readonly resource: string;
  readonly challenge?: string;
}

/**
 * An authorization server: metadata (RFC 8414), registration, codes with PKCE (S256), refresh tokens that are used once, and
 * access tokens of RFC 9068 for the resource that was asked for (RFC 8707). Its only user is always logged in.
 */
export class AuthorizationServer {
  readonly user = "alice@example.com";
  /** Seconds for which tokens are valid. */
  lifetime = 300;
  isDown = false;
  /** What the metadata say instead. */
  readonly metadata: Record<string, unknown> = {};
  /** The paths of the requests that came. */
  readonly requests: string[] = [];
  #keys: SigningKey[] = [];
  readonly #codes = new Map<string, Authorised>();
  readonly #refreshTokens = new Map<string, Authorised>();
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#respond(request, response).catch((error: unknown) => {
        response.writeHead(400, { "content-type": "application/json" });
        response.end(JSON.stringify({ error: "invalid_grant", error_description: String(error) }));
      });
    });
  }

  /** Starts a server, which is closed when the test finishes. */
  static async start(): Promise<AuthorizationServer> {
    const server = new AuthorizationServer();
    await server.rotateKeys();
    await new Promise<void>((resolve) => server.#server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      server.#server.closeAllConnections();
      server.#server.close();
    });
    return server;
  }

  get issuer(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** How many requests came for a path. */
  count(path: string): number {
    return this.requests.filter((each) => each === path).length;
  }

  /** Replaces all keys by a new one. */
  async rotateKeys(): Promise<void> {
    this.#keys = [{ kid: randomUUID(), ...(await generateKeyPair("ES256")) }];
  }

  /** Signs claims with the current key. Claims that are `undefined` are left out. */
  sign(claims: JWTPayload, header: { readonly typ?: string; readonly kid?: string } = {}): Promise<string> {
    const [key] = this.#keys;
    if (key === undefined) throw new Error("there is no key");
    const now = Math.floor(Date.now() / 1_000);
    return new SignJWT({
      iss: this.issuer,
      sub: this.user,
      iat: now,
      exp: now + this.lifetime,
      jti: randomUUID(),
      ...claims,
    })
      .setProtectedHeader({ alg: "ES256", kid: key.kid, typ: "at+jwt", ...header })
      .sign(key.privateKey);
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "", this.issuer);
    this.requests.push(pathname);
    const respond = (status: number, body: unknown): void => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(body));
    };
    if (this.isDown) return respond(500, {});
    if (pathname === "/.well-known/oauth-authorization-server") return respond(200, this.#metadata());
    if (pathname === "/jwks") return respond(200, { keys: await this.#publicKeys() });
    if (pathname === "/register") {
      return respond(201, { ...JSON.parse(await text(request)), client_id: "client-1" });
    }
    if (pathname === "/authorize") {
      response.writeHead(302, { location: this.#authorise(searchParams) });
      response.end();
      return undefined;
    }
    if (pathname !== "/token") return respond(404, {});
    return respond(200, await this.#token(new URLSearchParams(await text(request))));
  }

  #metadata(): object {
    return {
      issuer: this.issuer,
      jwks_uri: `${this.issuer}/jwks`,
      authorization_endpoint: `${this.issuer}/authorize`,
      token_endpoint: `${this.issuer}/token`,
      registration_endpoint: `${this.issuer}/register`,
      response_types_supported: ["code"],
      code_challenge_methods_supported: ["S256"],
      token_endpoint_auth_methods_supported: ["none"],
      authorization_response_iss_parameter_supported: true,
      ...this.metadata,
    };
  }

  #publicKeys(): Promise<unknown[]> {
    return Promise.all(
      this.#keys.map(async ({ kid, publicKey }) => ({ ...(await exportJWK(publicKey)), kid, use: "sig" })),
    );
  }

  #authorise(asked: URLSearchParams): string {
    const code = randomUUID();
    this.#codes.set(code, {
      clientId: asked.get("client_id") ?? "",
      scope: asked.get("scope") ?? "",
      resource: asked.get("resource") ?? "",
      challenge: asked.get("code_challenge") ?? "",
    });
    const back = new URL(asked.get("redirect_uri") ?? "");
    back.searchParams.set("code", code);
    back.searchParams.set("iss", this.issuer);
    const state = asked.get("state");
    if (state !== null) back.searchParams.set("state", state);
    return back.href;
  }

  async #token(form: URLSearchParams): Promise<object> {
    const authorised = form.get("grant_type") === "refresh_token" ? this.#refreshed(form) : this.#coded(form);
    const { clientId, scope, resource } = authorised;
    const refreshToken = randomUUID();
    this.#refreshTokens.set(refreshToken, authorised);
    return {
      access_token: await this.sign({ aud: resource, client_id: clientId, scope }),
      token_type: "Bearer",
      expires_in: this.lifetime,
      refresh_token: refreshToken,
      scope,
    };
  }

  #refreshed(form: URLSearchParams): Authorised {
    const given = form.get("refresh_token") ?? "";
    const authorised = this.#refreshTokens.get(given);
    this.#refreshTokens.delete(given);
    if (authorised === undefined) throw new Error("the refresh token is unknown");
    return authorised;
  }

  #coded(form: URLSearchParams): Authorised {
    const given = form.get("code") ?? "";
    const authorised = this.#codes.get(given);
    this.#codes.delete(given);
    const verifier = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    if (authorised === undefined || authorised.challenge !== verifier) throw new Error("the code is wrong");
    return authorised;
  }
}
