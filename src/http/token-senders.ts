import { hash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { AccessTokens } from "../access-tokens/access-tokens.ts";
import {
  AccessTokenError,
  type AccessTokenOptions,
  type AccessTokenProblem,
  checkAccessTokenOptions,
} from "../access-tokens/options.ts";
import { RequestRefusal } from "../remote-protocol/problems.ts";
import type { Sender } from "./authentication.ts";
import type { OtherProofs } from "./door.ts";
import { unavailable } from "./refusals.ts";

/** The path of the MCP server. */
export const MCP_PATH = "/mcp";

const WELL_KNOWN = "/.well-known/oauth-protected-resource";

/** What clients learn about where to get tokens for the MCP server: its metadata (RFC 9728), and challenges (RFC 6750). */
export class ProtectedResource {
  readonly #parameters: string;
  readonly #document: string;

  /** @throws {TypeError} if an option is invalid. */
  constructor(options: AccessTokenOptions) {
    checkAccessTokenOptions(options);
    const { resource, issuer, scopes = [] } = options;
    const url = new URL(resource);
    if (url.pathname !== MCP_PATH)
      throw new TypeError(`the resource must be a URL with the path ${MCP_PATH}`);
    const scope = scopes.length === 0 ? "" : `, scope="${scopes.join(" ")}"`;
    this.#parameters = `resource_metadata="${url.origin}${WELL_KNOWN}${MCP_PATH}"${scope}`;
    this.#document = JSON.stringify({
      resource,
      authorization_servers: [issuer],
      ...(scopes.length > 0 && { scopes_supported: scopes }),
      bearer_methods_supported: ["header"],
    });
  }

  /** The paths of the metadata. */
  static readonly paths: readonly string[] = [WELL_KNOWN, WELL_KNOWN + MCP_PATH];

  /**
   * Refuses a request, and says where its client gets a token that would do.
   *
   * @param problem What is wrong with its token. Default: it has none.
   */
  refusal(message: string, problem?: Exclude<AccessTokenProblem, "unavailable">): RequestRefusal {
    const error = problem === undefined ? "" : `error="${problem}", error_description="${message}", `;
    const challenge = `Bearer ${error}${this.#parameters}`;
    const parts = { headers: { "www-authenticate": challenge } };
    return problem === "insufficient_scope"
      ? new RequestRefusal(403, "forbidden", message, parts)
      : new RequestRefusal(401, "unauthenticated", message, parts);
  }

  /** The metadata, which needs no credentials. */
  respond(): Response {
    return new Response(this.#document, {
      headers: { "content-type": "application/json", "access-control-allow-origin": "*" },
    });
  }
}

const BEARER = /^Bearer +([^ ]+)$/i;

/** Authenticates the senders of requests to the MCP server that have an access token. They are callers, and nothing else. */
export class TokenSenders implements NonNullable<OtherProofs["accessTokens"]> {
  readonly resource: ProtectedResource;
  readonly #tokens: AccessTokens;

  private constructor(resource: ProtectedResource, tokens: AccessTokens) {
    this.resource = resource;
    this.#tokens = tokens;
  }

  /** @throws {TypeError} as a rejection, if an option is invalid, or the package `jose` is not installed. */
  static async open(options: AccessTokenOptions): Promise<TokenSenders> {
    // Loaded only for those who need it.
    const { AccessTokens } = await import("../access-tokens/access-tokens.ts");
    return new TokenSenders(new ProtectedResource(options), await AccessTokens.open(options));
  }

  /**
   * Authenticates a sender without one of the server's own credentials.
   *
   * @param problem The refusal of the server's own authentication.
   * @throws {RequestRefusal} as a rejection: the problem itself unless an access token could be the answer to it.
   */
  async senderOf({ headers }: IncomingMessage, problem: unknown): Promise<Sender> {
    if (!(problem instanceof RequestRefusal) || problem.code !== "unauthenticated") throw problem;
    const [, token] = BEARER.exec(headers.authorization ?? "") ?? [];
    if (token === undefined) throw this.resource.refusal("the request must have an access token");
    try {
      const { principal, expiresAt } = await this.#tokens.verify(token);
      const { id, attributes = {} } = principal;
      const caller = `oauth ${JSON.stringify([id, attributes["clientId"] ?? null])}`;
      return { caller, credential: hash("sha256", token), principal, isSigned: false, expiresAt };
    } catch (error) {
      if (!(error instanceof AccessTokenError)) throw error;
      const { code, message } = error;
      throw code === "unavailable" ? unavailable(message, error.cause) : this.resource.refusal(message, code);
    }
  }

  /** Closes the connections to the authorization server. */
  close(): Promise<void> {
    return this.#tokens.close();
  }
}
