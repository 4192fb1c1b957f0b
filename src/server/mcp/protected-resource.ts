import {
  type AccessTokenOptions,
  type AccessTokenProblem,
  checkAccessTokenOptions,
} from "../../access-tokens/options.ts";
import { RequestRefusal } from "../../remote-protocol/problems.ts";

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
