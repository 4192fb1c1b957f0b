import { createHash, randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import type { NetGrant } from "../../../src/policy/grant/net-grant.ts";
import { type Served, serve } from "../import/http-servers.ts";

/** An authorization server, and an MCP server with one tool that wants its tokens. */
export interface Protected extends AsyncDisposable {
  readonly url: string;
  readonly issuer: string;
  readonly addresses: readonly string[];
  /** A grant of the authorization server. */
  readonly net: readonly NetGrant[];
  /** Access and refresh tokens that are good. Deleting them revokes them. */
  readonly access: Map<string, string>;
  readonly refresh: Set<string>;
  /** The parameters of the requests to the token endpoint. */
  readonly asked: URLSearchParams[];
  registered: number;
  /** The scope that calls of the tool want. */
  callScope: string;
  /** `"token"`: calls fail with an HTTP error that repeats their token. */
  failure: "none" | "token";
  /** The error of the token endpoint, which repeats what it was sent; `undefined` if it gives tokens. */
  refusal: string | undefined;
  /** What the metadata of the resource says besides. */
  resource: Record<string, unknown>;
  /** What the metadata of the authorization server says besides. */
  metadata: Record<string, unknown>;
}

const ADDRESSES = ["127.0.0.1/32"];

/** Starts both. The authorization page gives access at once. */
export async function serveProtected(): Promise<Protected> {
  const codes = new Map<string, { challenge: string; scope: string; redirect: string }>();
  const access = new Map<string, string>();
  const refresh = new Set<string>();
  const asked: URLSearchParams[] = [];
  let issuer = "";
  let mcpUrl = "";

  const answer = (response: ServerResponse, status: number, body: object): void => {
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  };
  const give = (response: ServerResponse, scope: string): void => {
    const tokens = { access_token: `access-${randomUUID()}`, refresh_token: `refresh-${randomUUID()}` };
    access.set(tokens.access_token, scope);
    refresh.add(tokens.refresh_token);
    answer(response, 200, { ...tokens, token_type: "Bearer", expires_in: 60, scope });
  };
  const token = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const params = new URLSearchParams(await text(request));
    asked.push(params);
    const grant = params.get("grant_type");
    if (made.refusal !== undefined) {
      const said = `${request.headers.authorization} ${params} \u001b[2J\u202e`;
      answer(response, 400, { error: made.refusal, error_description: said });
    } else if (grant === "client_credentials") {
      const isRight = request.headers.authorization === `Basic ${btoa("machine:machine-secret")}`;
      if (isRight) give(response, params.get("scope") ?? "");
      else answer(response, 401, { error: "invalid_client" });
    } else if (grant === "refresh_token") {
      if (refresh.delete(params.get("refresh_token") ?? "")) give(response, "basic");
      else answer(response, 400, { error: "invalid_grant", error_description: params.get("refresh_token") });
    } else {
      const code = codes.get(params.get("code") ?? "");
      codes.delete(params.get("code") ?? "");
      const verified = createHash("sha256").update(params.get("code_verifier") ?? "");
      const isRight =
        verified.digest("base64url") === code?.challenge && params.get("redirect_uri") === code.redirect;
      if (isRight) give(response, code.scope);
      else answer(response, 400, { error: "invalid_grant" });
    }
  };

  const authorization: Served = await serve(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", issuer);
    if (pathname === "/.well-known/oauth-authorization-server") {
      return answer(response, 200, {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        registration_endpoint: `${issuer}/register`,
        response_types_supported: ["code"],
        code_challenge_methods_supported: ["S256"],
        authorization_response_iss_parameter_supported: true,
        ...made.metadata,
      });
    }
    if (pathname === "/register") {
      made.registered++;
      return answer(response, 201, {
        ...JSON.parse(await text(request)),
        client_id: `client-${made.registered}`,
      });
    }
    if (pathname === "/token") return await token(request, response);
    if (pathname !== "/authorize") return answer(response, 404, {});
    const redirect = searchParams.get("redirect_uri") ?? "";
    const code = randomUUID();
    const challenge = searchParams.get("code_challenge") ?? "";
    codes.set(code, { challenge, redirect, scope: searchParams.get("scope") ?? "" });
    const query = new URLSearchParams({ code, state: searchParams.get("state") ?? "", iss: issuer });
    return response.writeHead(302, { location: `${redirect}?${query}` }).end();
  });
  issuer = new URL(authorization.options.url).origin;

  const mcp: Served = await serve(async (request, response) => {
    if (request.url?.startsWith("/.well-known/oauth-protected-resource")) {
      return answer(response, 200, { resource: mcpUrl, authorization_servers: [issuer], ...made.resource });
    }
    if (request.method !== "POST") return response.writeHead(405).end();
    const { id, method } = JSON.parse(await text(request));
    const bearer = request.headers.authorization?.slice("Bearer ".length) ?? "";
    const scope = access.get(bearer);
    const wanted = method === "tools/call" ? made.callScope : "basic";
    const metadata = `resource_metadata="${new URL(mcpUrl).origin}/.well-known/oauth-protected-resource/mcp"`;
    if (scope === undefined) {
      response.setHeader("www-authenticate", `Bearer ${metadata}, scope="basic"`);
      return answer(response, 401, {});
    }
    if (!scope.split(" ").includes(wanted)) {
      response.setHeader(
        "www-authenticate",
        `Bearer error="insufficient_scope", ${metadata}, scope="${wanted}"`,
      );
      return answer(response, 403, {});
    }
    if (made.failure === "token" && method === "tools/call") return response.writeHead(500).end(bearer);
    const common = { resultType: "complete", ttlMs: 60_000, cacheScope: "private" };
    const results: Record<string, object> = {
      "server/discover": { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } },
      "tools/list": { tools: [{ name: "x", inputSchema: { type: "object" } }] },
      // A server that repeats what it was sent.
      "tools/call": { content: [{ type: "text", text: `the token is ${bearer}` }] },
    };
    return answer(response, 200, { jsonrpc: "2.0", id, result: { ...common, ...results[method] } });
  });
  mcpUrl = mcp.options.url;

  const made: Protected = {
    url: mcpUrl,
    issuer,
    addresses: ADDRESSES,
    access,
    refresh,
    asked,
    net: [{ origin: issuer, addresses: ADDRESSES }],
    registered: 0,
    callScope: "basic",
    failure: "none",
    refusal: undefined,
    resource: {},
    metadata: {},
    [Symbol.asyncDispose]: async () => {
      await mcp[Symbol.asyncDispose]();
      await authorization[Symbol.asyncDispose]();
    },
  };
  return made;
}
