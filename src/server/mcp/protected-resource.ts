import { RouteRefusal } from "../../executor/http/more-routes.ts";
import { MCP_PATH } from "./mcp-path.ts";

/** What clients learn about where to get tokens for the MCP server (RFC 9728). */
export interface ProtectedResourceOptions {
  /** The URL of the MCP server, as clients reach it: `https://host/mcp`. */
  readonly resource: string;
  /** The issuers of authorization servers, whose tokens the server accepts as credentials. At least one. */
  readonly authorizationServers: readonly string[];
  /** The scopes that a client can ask for. Default: not said. */
  readonly scopes?: readonly string[];
}

const WELL_KNOWN = "/.well-known/oauth-protected-resource";

/** The metadata of the MCP server as a protected resource of OAuth. */
export class ProtectedResource {
  /** What a response without credentials says in `www-authenticate`. */
  readonly challenge: string;
  readonly #document: string;

  /** @throws {TypeError} if an option is invalid. */
  constructor({ resource, authorizationServers, scopes }: ProtectedResourceOptions) {
    const url = checkUrl(resource, "resource");
    if (url.pathname !== MCP_PATH)
      throw new TypeError(`the resource must be a URL with the path ${MCP_PATH}`);
    if (authorizationServers.length === 0) throw new TypeError("there must be an authorization server");
    for (const server of authorizationServers) checkUrl(server, "authorization server");
    const scope = scopes === undefined ? "" : `, scope="${scopes.map(checkScope).join(" ")}"`;
    this.challenge = `Bearer resource_metadata="${url.origin}${WELL_KNOWN}${MCP_PATH}"${scope}`;
    this.#document = JSON.stringify({
      resource,
      authorization_servers: authorizationServers,
      ...(scopes !== undefined && { scopes_supported: scopes }),
      bearer_methods_supported: ["header"],
    });
  }

  /** Whether a path is that of the metadata. */
  static has(url: string): boolean {
    return url === WELL_KNOWN || url === WELL_KNOWN + MCP_PATH;
  }

  /** Refuses a request without credentials, and says where clients get some. */
  refusal(message: string): RouteRefusal {
    return new Challenge(message, this.challenge);
  }

  /** The metadata, which needs no credentials. */
  respond(): Response {
    return new Response(this.#document, {
      headers: { "content-type": "application/json", "access-control-allow-origin": "*" },
    });
  }
}

function checkUrl(text: string, what: string): URL {
  const url = URL.parse(text);
  const isLocal = url !== null && ["localhost", "127.0.0.1", "[::1]"].includes(url.hostname);
  if (url?.protocol === "https:" || (url?.protocol === "http:" && isLocal)) return url;
  throw new TypeError(`the ${what} '${text}' must be an https: URL`);
}

/** RFC 6749, section 3.3. */
function checkScope(scope: string): string {
  if (/^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope)) return scope;
  throw new TypeError(`the scope '${scope}' has characters that a scope cannot have`);
}

/** Responds with 401. */
class Challenge extends RouteRefusal {
  override readonly headers: Readonly<Record<string, string>>;

  constructor(message: string, challenge: string) {
    super(401, "unauthenticated", message);
    this.headers = {
      "content-type": "application/json",
      "cache-control": "no-store",
      "www-authenticate": challenge,
    };
  }
}
