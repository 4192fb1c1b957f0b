import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/json/value.ts";
import type { Server } from "../../../src/server/server.ts";
import { HeldTool } from "../../executor/harness.ts";
import { type ClientName, TOKENS, WritingTool } from "../../server/harness.ts";
import { send, startMcpServer, urlOf } from "./harness.ts";

const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } },
};

const LISTEN = {
  notifications: { toolsListChanged: true },
  _meta: {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  },
};

const { "io.modelcontextprotocol/clientCapabilities": _capabilities, ...withoutCapabilities } = LISTEN._meta;
const ofVersion = (version: string): JsonObject => ({
  ...LISTEN._meta,
  "io.modelcontextprotocol/protocolVersion": version,
});

function post(
  server: Server,
  body: string,
  headers: Readonly<Record<string, string>> = {},
  name: ClientName = "alice",
): Promise<Response> {
  return fetch(urlOf(server), {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      authorization: `Bearer ${TOKENS[name]}`,
      ...headers,
    },
    body,
  });
}

async function start(): Promise<Server> {
  return startMcpServer([new WritingTool().tool]);
}

/** Begins a session of MCP 2025-11-25, and returns its id. */
async function begin(server: Server, name: ClientName = "alice"): Promise<string> {
  const response = await post(server, JSON.stringify(INITIALIZE), {}, name);
  expect(response.status).toBe(200);
  await response.text();
  return response.headers.get("mcp-session-id") ?? "";
}

describe("The path /mcp", () => {
  test.each([
    ["no JSON", "{", 400, -32_700, null],
    ["a member twice", '{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"ping"}', 400, -32_700, 1],
    [
      "a number that cannot be exact",
      '{"jsonrpc":"2.0","id":12345678901234567890,"method":"ping"}',
      400,
      -32_700,
      Number("12345678901234567890"),
    ],
    ["a text", '"initialize"', 400, -32_600, null],
    ["an empty batch", "[]", 400, -32_600, null],
    ["nothing", "", 400, -32_700, null],
    ["much nesting", `${"[".repeat(100_000)}`, 400, -32_700, null],
  ])("refuses %s", async (_what, body, status, code, id) => {
    const response = await post(await start(), body);
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ jsonrpc: "2.0", id, error: { code } });
  });

  test.each([
    undefined,
    "*/*",
    "application/*, text/*",
    "application/json;q=0.9, */*;q=0.1",
  ])("serves clients of both revisions whose accept is %s", async (accept) => {
    const server = await start();
    const bodies = [
      [INITIALIZE, {}],
      [
        { jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: LISTEN._meta } },
        { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list" },
      ],
    ] as const;
    for (const [body, more] of bodies) {
      const headers = {
        "content-type": "application/json",
        authorization: `Bearer ${TOKENS.alice}`,
        ...(accept !== undefined && { accept }),
        ...more,
      };
      // fetch would send an accept of its own.
      const sent = request(urlOf(server), { method: "POST", headers });
      sent.end(JSON.stringify(body));
      const [response] = (await once(sent, "response")) as [IncomingMessage];
      expect(response.statusCode).toBe(200);
      response.resume();
    }
  });

  test("refuses a client that accepts none of its media types", async () => {
    const response = await post(await start(), JSON.stringify(INITIALIZE), { accept: "text/html" });
    expect(response.status).toBe(406);
    expect(await response.json()).toMatchObject({ id: 1 });
  });

  test("refuses each request of a batch", async () => {
    const notification = '{"jsonrpc":"2.0","method":"notifications/initialized"}';
    const body = `[${JSON.stringify(INITIALIZE)},${notification},1,{"jsonrpc":"2.0","id":"b","method":"ping"}]`;
    const response = await post(await start(), body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject(
      [INITIALIZE.id, null, "b"].map((id) => ({ id, error: { code: -32_600 } })),
    );
  });

  test("refuses a body that is too long before it has read it", async () => {
    const server = await startMcpServer([], {}, { limits: { bodyBytes: 1_000 } });
    const response = await post(server, JSON.stringify({ ...INITIALIZE, long: "x".repeat(2_000) }));
    expect(response.status).toBe(413);
  });

  test("refuses other media types and methods", async () => {
    const server = await start();
    expect((await post(server, "{}", { "content-type": "text/plain" })).status).toBe(415);
    const headers = { authorization: `Bearer ${TOKENS.alice}` };
    expect((await fetch(urlOf(server), { method: "PUT", headers })).status).toBe(404);
  });

  test("refuses origins and hosts of other sites with 403", async () => {
    const server = await start();
    const text = JSON.stringify(INITIALIZE);
    expect((await post(server, text, { origin: "https://evil.example" })).status).toBe(403);
    // fetch sets the host itself.
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const headers = { host: "evil.example", "content-type": "application/json" };
      request(urlOf(server), { method: "POST", headers }, ({ statusCode }) => resolve(statusCode))
        .on("error", reject)
        .end(text);
    });
    expect(status).toBe(403);
  });

  test("needs the credential of a caller", async () => {
    const server = await start();
    const text = JSON.stringify(INITIALIZE);
    expect((await post(server, text, { authorization: "Bearer of-nothing-at-all" })).status).toBe(401);
    for (const name of ["carol", "erin", "frank"] as const) {
      expect((await post(server, text, {}, name)).status).toBe(403);
    }
  });

  test("does not exist unless it is configured", async () => {
    const { startServer } = await import("../../server/harness.ts");
    expect((await post(await startServer([]), "{}")).status).toBe(404);
  });

  test("says where to get tokens", async () => {
    const oauth = {
      resource: "https://tools.example.com/mcp",
      issuer: "https://login.example.com",
      scopes: ["tools"],
    };
    const server = await startMcpServer([], { oauth });
    const refused = await fetch(urlOf(server), { method: "POST", body: "{}" });
    expect(refused.status).toBe(401);
    const metadata = "https://tools.example.com/.well-known/oauth-protected-resource/mcp";
    expect(refused.headers.get("www-authenticate")).toBe(
      `Bearer resource_metadata="${metadata}", scope="tools"`,
    );
    for (const path of ["", "/mcp"]) {
      const url = `http://${server.address}/.well-known/oauth-protected-resource${path}`;
      expect(await (await fetch(url)).json()).toEqual({
        resource: "https://tools.example.com/mcp",
        authorization_servers: ["https://login.example.com"],
        scopes_supported: ["tools"],
        bearer_methods_supported: ["header"],
      });
    }
  });

  test.each([
    [{ resource: "http://tools.example.com/mcp", issuer: "https://a.example" }],
    [{ resource: "https://tools.example.com/other", issuer: "https://a.example" }],
    [{ resource: "https://tools.example.com/mcp", issuer: "" }],
    [{ resource: "https://tools.example.com/mcp", issuer: "https://a.example", scopes: ['"'] }],
  ])("refuses metadata that clients could not use: %j", async (oauth) => {
    await expect(startMcpServer([], { oauth })).rejects.toThrow(TypeError);
  });
});

describe("A session of MCP 2025-11-25", () => {
  test("does not exist for another principal", async () => {
    const server = await start();
    const id = await begin(server);
    const list = JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/list" });
    const headers = { "mcp-session-id": id, "mcp-protocol-version": "2025-11-25" };
    expect((await post(server, list, headers)).status).toBe(200);
    const stolen = await post(server, list, headers, "bob");
    const unknown = await post(server, list, { ...headers, "mcp-session-id": "unknown" }, "bob");
    expect([stolen.status, await stolen.text()]).toEqual([404, await unknown.text()]);
  });

  test("ends with DELETE, and with it the session of its calls", async () => {
    const server = await start();
    const id = await begin(server);
    const headers = { "mcp-session-id": id, "mcp-protocol-version": "2025-11-25" };
    await (
      await post(server, JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/list" }), headers)
    ).text();
    expect(server.sessions.list().map(({ name }) => name)).toEqual(["test"]);
    const all = { ...headers, authorization: `Bearer ${TOKENS.alice}` };
    expect((await fetch(urlOf(server), { method: "DELETE", headers: all })).status).toBe(200);
    const ping = JSON.stringify({ jsonrpc: "2.0", id: 3, method: "ping" });
    expect((await post(server, ping, headers)).status).toBe(404);
    await expect.poll(() => server.sessions.list()).toEqual([]);
  });

  test("is refused when one principal has too many, while others still get one", async () => {
    const server = await start();
    for (let count = 0; count < 100; count++) await begin(server);
    expect((await post(server, JSON.stringify(INITIALIZE))).status).toBe(429);
    await begin(server, "bob");
  });
});

test("A client of MCP 2025-11-25 that loses its connection does not cancel its call with that", async () => {
  const held = new HeldTool();
  const server = await startMcpServer([{ ...held.tool, sideEffects: "read" }]);
  const headers = { "mcp-session-id": await begin(server), "mcp-protocol-version": "2025-11-25" };
  const send = (message: object, signal: AbortSignal | null = null): Promise<Response> =>
    fetch(urlOf(server), {
      method: "POST",
      signal,
      body: JSON.stringify({ jsonrpc: "2.0", ...message }),
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        authorization: `Bearer ${TOKENS.alice}`,
        ...headers,
      },
    });
  const leaving = new AbortController();
  const call = { id: 2, method: "tools/call", params: { name: "hold" } };
  const lost = send(call, leaving.signal).then((response) => response.text());
  await expect.poll(() => held.started.length).toBe(1);
  leaving.abort();
  await expect(lost).rejects.toThrow();
  // Time for the server to see the end of the connection.
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(held.cancelled).toEqual([]);
  await send({ method: "notifications/cancelled", params: { requestId: 2 } });
  await expect.poll(() => held.cancelled.length).toBe(1);
});

describe("A request of MCP 2026-07-28", () => {
  test("needs no session: all requests of a principal share one", async () => {
    const server = await start();
    for (let count = 0; count < 3; count++) {
      const { status, body } = await send(server, "tools/list", {});
      expect(status).toBe(200);
      expect(body).toMatchObject({
        result: { resultType: "complete", cacheScope: "private", ttlMs: expect.any(Number) },
      });
    }
    expect(server.sessions.list()).toHaveLength(1);
    await send(server, "tools/list", {}, { name: "bob" });
    expect(server.sessions.list().map(({ principal }) => principal?.id)).toEqual(["alice", "bob"]);
  });

  test.each([
    ["another method in the header", { "mcp-method": "tools/call" }, 400, -32_020],
    ["another version in the header", { "mcp-protocol-version": "2025-11-25" }, 400, -32_020],
  ])("is refused with %s", async (_what, headers, status, code) => {
    const answer = await send(await start(), "tools/list", {}, { headers });
    expect(answer).toMatchObject({ status, body: { error: { code } } });
  });

  test.each<[string, JsonObject, string, number]>([
    ["without _meta", {}, "2026-07-28", -32_602],
    ["without the capabilities of the client", { _meta: withoutCapabilities }, "2026-07-28", -32_602],
    ["of an unknown version", { _meta: ofVersion("2027-01-01") }, "2027-01-01", -32_022],
  ])("is refused %s", async (_what, params, version, code) => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params });
    const headers = { "mcp-protocol-version": version, "mcp-method": "tools/list" };
    const response = await post(await start(), body, headers);
    expect([response.status, await response.json()]).toMatchObject([400, { id: 1, error: { code } }]);
  });

  test("is refused with another name of the tool in the header", async () => {
    const headers = { "mcp-name": "read_note" };
    const answer = await send(await start(), "tools/call", { name: "write_note" }, { headers });
    expect(answer).toMatchObject({ status: 400, body: { error: { code: -32_020 } } });
  });

  test("is refused if a header repeats an argument with another value", async () => {
    const schema = { type: "object", properties: { region: { type: "string", "x-mcp-header": "Region" } } };
    const tool = { ...new WritingTool("look", { sideEffects: "read" }).tool, inputSchema: schema };
    const server = await startMcpServer([tool]);
    const call = { name: "look", arguments: { region: "zürich" } };
    const sent = (value: string) =>
      send(server, "tools/call", call, { headers: { "mcp-param-region": value } });
    expect(await sent(`=?base64?${Buffer.from("zürich").toString("base64")}?=`)).toMatchObject({
      status: 200,
      body: { result: { resultType: "complete" } },
    });
    expect(await sent("bern")).toMatchObject({ status: 400, body: { error: { code: -32_020 } } });
    expect(await send(server, "tools/call", call)).toMatchObject({ body: { error: { code: -32_020 } } });
  });

  test("with an unknown method is 404", async () => {
    const answer = await send(await start(), "tools/forget", {});
    expect(answer).toMatchObject({ status: 404, body: { error: { code: -32_601 } } });
  });
});

test("A principal listens on at most 32 streams at once, while others still get one", async () => {
  const server = await start();
  const listen = async (name: ClientName): Promise<Response> => {
    const message = { jsonrpc: "2.0", id: 7, method: "subscriptions/listen", params: LISTEN };
    return fetch(urlOf(server), {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        authorization: `Bearer ${TOKENS[name]}`,
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "subscriptions/listen",
      },
      body: JSON.stringify(message),
    });
  };
  // A body that is neither read nor held would be collected, and its stream closed.
  const open: Response[] = [];
  while (open.length < 32) open.push(await listen("alice"));
  expect(open.map(({ status }) => status)).toEqual(open.map(() => 200));
  const refused = await listen("alice");
  expect([refused.status, await refused.json()]).toMatchObject([429, { id: 7, error: { code: -32_603 } }]);
  expect((await listen("bob")).status).toBe(200);
  // One that has ended makes room.
  await open[0]?.body?.cancel();
  await expect.poll(async () => (await listen("alice")).status, { timeout: 10_000 }).toBe(200);
});
