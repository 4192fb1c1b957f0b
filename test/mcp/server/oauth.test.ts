import { type AddressInfo, createServer } from "node:net";
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client";
import { describe, expect, onTestFinished, test } from "vitest";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import type { Tool } from "../../../src/engine/tool.ts";
import type { RefusedRequest } from "../../../src/http/refusals.ts";
import { deny, HostPolicy } from "../../../src/policy/policy.ts";
import type { ServerOptions } from "../../../src/server/options.ts";
import type { Server } from "../../../src/server/server.ts";
import type { Principal } from "../../../src/tool/principal.ts";
import { AuthorizationServer } from "../../access-tokens/authorization-server.ts";
import { CREDENTIALS, TOKENS } from "../../server/harness.ts";
import { startMcpServer, urlOf } from "./harness.ts";

const callers: (Principal | undefined)[] = [];
const whoAmI: Tool = {
  name: "who_am_i",
  description: "Says who calls.",
  inputSchema: { type: "object" },
  sideEffects: "read",
  host: (_input: unknown, { principal }) => {
    callers.push(principal);
    return principal?.id ?? "";
  },
};

/** A resource has to be named before the server listens. */
async function freePort(): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const server = createServer().listen(0, "127.0.0.1", resolve);
  await promise;
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  return port;
}

/** Starts a server that accepts the tokens of an authorization server. */
async function start(scopes: readonly string[] = ["tools"], options: Partial<ServerOptions> = {}) {
  const issuer = await AuthorizationServer.start();
  const listen = `127.0.0.1:${await freePort()}`;
  const resource = `http://${listen}/mcp`;
  const refused: RefusedRequest[] = [];
  const server = await startMcpServer(
    [whoAmI],
    { oauth: { resource, issuer: issuer.issuer, scopes } },
    { listen, onRefusal: (each) => refused.push(each), ...options },
  );
  const sign = (claims: object = {}) =>
    issuer.sign({ aud: resource, client_id: "editor", scope: scopes.join(" "), ...claims });
  return { issuer, server, resource, refused, sign };
}

function post(server: Server, message: object, headers: Record<string, string>): Promise<Response> {
  return fetch(urlOf(server), {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...message }),
  });
}

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

/** Sends a request of MCP 2026-07-28. */
function send(
  server: Server,
  token: string,
  method: string,
  params: { readonly name?: string; readonly notifications?: object } = {},
): Promise<Response> {
  const { name } = params;
  const headers = {
    authorization: `Bearer ${token}`,
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": method,
    ...(name !== undefined && { "mcp-name": name }),
  };
  return post(server, { method, params: { ...params, _meta: META } }, headers);
}

/** The parameters of a request that listens for changes. */
const LISTEN = { notifications: { toolsListChanged: true } };

/** What a client keeps of a login, and the browser of its user. */
class Login {
  readonly redirectUrl = "http://127.0.0.1:1/callback";
  readonly clientMetadata = { client_name: "test", redirect_uris: [this.redirectUrl] };
  saved: { access_token: string; refresh_token?: string } | undefined;
  logins = 0;
  #client: object | undefined;
  #discovery: object | undefined;
  #verifier = "";
  answer = new URLSearchParams();

  clientInformation = () => this.#client as never;
  saveClientInformation = (client: object): void => {
    this.#client = client;
  };
  tokens = () => this.saved as never;
  saveTokens = (tokens: never): void => {
    this.saved = tokens;
  };
  codeVerifier = () => this.#verifier;
  saveCodeVerifier = (verifier: string): void => {
    this.#verifier = verifier;
  };

  discoveryState = () => this.#discovery as never;
  saveDiscoveryState = (state: object): void => {
    this.#discovery = state;
  };

  async redirectToAuthorization(url: URL): Promise<void> {
    this.logins++;
    const { headers } = await fetch(url, { redirect: "manual" });
    this.answer = new URL(headers.get("location") ?? "").searchParams;
  }
}

describe("A client of the SDK", () => {
  test.each([
    ["2025-11-25", "legacy"],
    ["2026-07-28", { pin: "2026-07-28" }],
  ] as const)("logs in, lists, calls, and refreshes its token when it has expired (%s)", async (_wire, mode) => {
    const { issuer, server, resource } = await start();
    const login = new Login();
    const connect = async (): Promise<Client> => {
      const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
      onTestFinished(() => client.close());
      await client.connect(
        new StreamableHTTPClientTransport(urlOf(server), { authProvider: login as never }),
      );
      return client;
    };
    await expect(connect()).rejects.toThrow(UnauthorizedError);
    const transport = new StreamableHTTPClientTransport(urlOf(server), { authProvider: login as never });
    await transport.finishAuth(login.answer);
    callers.length = 0;
    const client = await connect();
    expect((await client.listTools()).tools).toMatchObject([{ name: "who_am_i" }]);
    const call = () => client.callTool({ name: "who_am_i", arguments: {} });
    expect(await call()).toMatchObject({ content: [{ text: "oauth:alice@example.com" }] });
    expect(callers).toEqual([
      {
        id: "oauth:alice@example.com",
        kind: "user",
        roles: ["scope:tools"],
        attributes: { issuer: issuer.issuer, clientId: "client-1", scopes: ["tools"] },
      },
    ]);
    // The token that the client has from here on is too old, but its refresh token is not.
    const now = Math.floor(Date.now() / 1_000);
    const claims = { aud: resource, client_id: "client-1", scope: "tools", exp: now - 60 };
    const expired = await issuer.sign(claims);
    if (login.saved !== undefined) login.saved.access_token = expired;
    const sessions = server.sessions.list().map(({ id }) => id);
    expect(await call()).toMatchObject({ content: [{ text: "oauth:alice@example.com" }] });
    expect(login.saved?.access_token).not.toBe(expired);
    expect(login.logins).toBe(1);
    // The same session goes on with the new token.
    expect(server.sessions.list().map(({ id }) => id)).toEqual(sessions);
  });
});

describe("The path /mcp with an authorization server", () => {
  test("says what is wrong with a token, and where to get another one", async () => {
    const { server, resource, sign } = await start(["tools", "notes"]);
    const metadata = `resource_metadata="${new URL(resource).origin}/.well-known/oauth-protected-resource/mcp", scope="tools notes"`;
    const challenge = async (token: string) => {
      const response = await send(server, token, "tools/list");
      return [response.status, response.headers.get("www-authenticate"), (await response.json()) as object];
    };
    expect(await challenge(await sign({ exp: 1 }))).toEqual([
      401,
      `Bearer error="invalid_token", error_description="the access token has expired", ${metadata}`,
      expect.objectContaining({ error: expect.objectContaining({ code: "unauthenticated" }) }),
    ]);
    expect(await challenge(await sign({ scope: "tools" }))).toEqual([
      403,
      `Bearer error="insufficient_scope", error_description="the access token must have the scopes tools notes", ${metadata}`,
      expect.objectContaining({ error: expect.objectContaining({ code: "forbidden" }) }),
    ]);
    const none = await post(server, { method: "ping" }, {});
    expect([none.status, none.headers.get("www-authenticate")]).toEqual([401, `Bearer ${metadata}`]);
  });

  test("still accepts the server's own credentials", async () => {
    const { server } = await start();
    expect((await send(server, TOKENS.alice, "tools/list")).status).toBe(200);
    expect((await send(server, TOKENS.carol, "tools/list")).status).toBe(403);
  });

  test("is closed to requests without a token, even if the server has no credentials of its own", async () => {
    const { server, sign } = await start([], { credentials: [] });
    expect((await post(server, { method: "ping" }, {})).status).toBe(401);
    expect((await send(server, await sign(), "tools/list")).status).toBe(200);
    for (const path of ["/v1/tools", "/v1/sessions", "/metrics"]) {
      expect((await fetch(`http://${server.address}${path}`)).status).toBe(401);
    }
    server.reload({ registry: new ToolRegistry(), policy: new HostPolicy() });
    expect((await post(server, { method: "ping" }, {})).status).toBe(401);
  });

  test("is the only one that access tokens open: they are for no other audience", async () => {
    const { server, sign } = await start();
    const headers = { authorization: `Bearer ${await sign()}` };
    for (const path of ["/v1/sessions", "/v1/tools", "/v1/confirmations", "/metrics"]) {
      expect((await fetch(`http://${server.address}${path}`, { headers })).status).toBe(401);
    }
  });

  test("is closed while the keys cannot be fetched, and tells the operator why", async () => {
    const { issuer, server, refused, sign } = await start();
    issuer.isDown = true;
    const token = await sign();
    const response = await send(server, token, "tools/list");
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(refused).toMatchObject([
      { code: "unavailable", status: 503, detail: expect.stringContaining("responded with 500") },
    ]);
    expect(await response.text()).not.toContain("responded with 500");
  });

  test("has no token in what the operator is told", async () => {
    const { server, refused, sign } = await start();
    const [, , signature = ""] = (await sign({ exp: 1 })).split(".");
    const token = await sign({ scope: "" });
    await send(server, token, "tools/list");
    await send(server, `${token}x`, "tools/list");
    await fetch(`${urlOf(server).href}?access_token=${token}`, { method: "POST" });
    expect(refused.map(({ status }) => status)).toEqual([403, 401, 401]);
    const told = JSON.stringify(refused);
    expect(told).not.toContain(token);
    expect(told).not.toContain(signature);
    expect(told).not.toContain("alice@example.com");
  });
});

describe("The sessions of users with access tokens", () => {
  test("are those of one user, client and set of scopes: a weaker token gets no stronger session", async () => {
    const { server, sign } = await start([]);
    callers.length = 0;
    const call = async (claims: object) =>
      (await send(server, await sign(claims), "tools/call", { name: "who_am_i" })).status;
    for (const claims of [{ scope: "b a" }, { scope: "a b" }, { scope: "a" }, { client_id: "other" }]) {
      expect(await call(claims)).toBe(200);
    }
    expect(callers.map((each) => each?.attributes?.["scopes"])).toEqual([["a", "b"], ["a", "b"], ["a"], []]);
    expect(server.sessions.list()).toHaveLength(3);
  });

  test("of MCP 2025-11-25 do not exist for a token with other scopes", async () => {
    const { server, sign } = await start([]);
    const initialize = {
      method: "initialize",
      params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } },
    };
    const strong = { authorization: `Bearer ${await sign({ scope: "a b" })}` };
    const begun = await post(server, initialize, strong);
    await begun.text();
    const session = {
      "mcp-session-id": begun.headers.get("mcp-session-id") ?? "",
      "mcp-protocol-version": "2025-11-25",
    };
    const list = async (headers: Record<string, string>) =>
      (await post(server, { method: "tools/list" }, { ...session, ...headers })).status;
    expect(await list(strong)).toBe(200);
    expect(await list({ authorization: `Bearer ${await sign({ scope: "b a" })}` })).toBe(200);
    for (const claims of [{ scope: "a" }, { sub: "bob" }, { scope: "a b", client_id: "other" }]) {
      expect(await list({ authorization: `Bearer ${await sign(claims)}` })).toBe(404);
    }
  });

  test("of one user are at most 16 at once, so that nobody takes the place of others", async () => {
    const { server, sign } = await start([]);
    await (await send(server, await sign({ sub: "bob" }), "tools/list")).text();
    for (let count = 0; count < 18; count++) {
      await (await send(server, await sign({ scope: `s${count}` }), "tools/list")).text();
    }
    await expect.poll(() => server.sessions.list().length).toBe(17);
    expect(server.sessions.list()[0]?.principal?.id).toBe("oauth:bob");
  });

  test("see the policy of their scopes", async () => {
    const policy = {
      check: ({ principal }: { principal?: Principal | undefined }) =>
        principal?.roles?.includes("scope:ask") ? new HostPolicy().check() : deny("it needs the scope ask"),
    };
    const { server, sign } = await start([], { policy: policy as never });
    const call = async (scope: string) =>
      (await send(server, await sign({ scope }), "tools/call", { name: "who_am_i" })).json();
    expect(await call("ask")).toMatchObject({ result: { content: [{ type: "text" }] } });
    expect(await call("other")).toMatchObject({ result: { isError: true } });
  });
});

describe("A stream of a client", () => {
  test("ends when its access token expires, and not with a reload before that", async () => {
    const { server, sign } = await start([]);
    // Within the leeway: two seconds are left.
    const token = await sign({ exp: Math.floor(Date.now() / 1_000) - 28 });
    const listening = await send(server, token, "subscriptions/listen", LISTEN);
    expect(listening.status).toBe(200);
    server.reload({ registry: new ToolRegistry(), policy: new HostPolicy(), credentials: CREDENTIALS });
    const text = await listening.text();
    expect(text).toContain("notifications/tools/list_changed");
  });
});
