import * as sdk from "@modelcontextprotocol/server";
import { describe, expect, test } from "vitest";
import { defineTool, type Tool } from "../../../src/engine/tool.ts";
import type { JsonObject } from "../../../src/json/value.ts";
// Inside: asks which calls are left to the SDK: both ways answer alike, so that no client can tell.
import { readPlainCall } from "../../../src/mcp/server/call-directly.ts";
import type { Server } from "../../../src/server/server.ts";
import { TOKENS } from "../../server/harness.ts";
import { send, startMcpServer, urlOf } from "./harness.ts";

const PIXEL = "iVBORw0KGgo=";

function tool(name: string, host: (...args: never) => unknown, more: object = {}): Tool {
  return defineTool({
    name,
    description: "Does it.",
    inputSchema: { type: "object" },
    sideEffects: "read",
    unhandledErrors: "message",
    host,
    ...more,
  } as never);
}

function own(mcp: JsonObject): object {
  return { content: [{ type: "text", text: "own" }], metadata: { mcp } };
}

async function start(): Promise<Server> {
  let server: Server | undefined;
  const form = {
    method: "elicitation/create",
    params: { message: "?", requestedSchema: { type: "object", properties: { name: { type: "string" } } } },
  };
  const nested = { type: "object", properties: { region: { type: "string", "x-mcp-header": "Region" } } };
  server = await startMcpServer([
    tool("text", (input) => JSON.stringify(input)),
    tool("structured", () => ({ sum: 3 }), { outputSchema: { type: "object" } }),
    tool("image", () => ({ content: [{ type: "image", mimeType: "image/png", data: PIXEL }] })),
    tool("fail", () => {
      throw new Error("it failed");
    }),
    tool("annotated", () =>
      own({
        content: [{ type: "text", text: "x", annotations: { priority: 1 } }],
        _meta: { "a.example/b": 1 },
      }),
    ),
    tool("unknown_block", () => own({ content: [{ type: "hologram", text: "x" }] })),
    tool("region", () => "there", { inputSchema: nested }),
    tool("capabilities", (_input, context) => JSON.stringify(server?.mcp?.clientOf(context)?.capabilities)),
    tool("ask", async (_input, context) =>
      JSON.stringify(await server?.mcp?.clientOf(context)?.ask({ who: form as never })),
    ),
  ]);
  return server;
}

/** Legal, and left to the SDK. */
function encoded(name: string): Readonly<Record<string, string>> {
  return { "mcp-name": `=?base64?${Buffer.from(name).toString("base64")}?=` };
}

describe("A plain call is answered as the SDK answers the same call", () => {
  test.each([
    ["text", {}, {}],
    ["text", {}, { deep: [{ ü: "☃" }] }],
    ["structured", {}, {}],
    ["image", {}, {}],
    ["fail", {}, {}],
    ["annotated", {}, {}],
    ["unknown_block", {}, {}],
    ["region", {}, { region: "eu" }],
    ["region", {}, {}],
    ["absent", {}, {}],
    ["ask", {}, {}],
    ["ask", { elicitation: { form: {} } }, {}],
    ["text", { elicitation: 1 }, {}],
  ])("%s, of a client with %j, and the arguments %j", async (name, capabilities, args) => {
    const server = await start();
    const params = { name, arguments: args as JsonObject };
    const plain = await send(server, "tools/call", params, { capabilities });
    const bySdk = await send(server, "tools/call", params, { capabilities, headers: encoded(name) });
    expect(withoutState(plain)).toEqual(withoutState(bySdk));
  });

  test("it can be asked to continue one that the SDK was not needed for", async () => {
    const server = await start();
    const capabilities = { elicitation: { form: {} } };
    const asked = await send(server, "tools/call", { name: "ask" }, { capabilities });
    const { requestState } = asked.body["result"] as JsonObject;
    const inputResponses = { who: { action: "accept", content: { name: "Ada" } } };
    const params = { name: "ask", requestState, inputResponses } as JsonObject;
    expect(await send(server, "tools/call", params, { capabilities })).toMatchObject({
      body: { result: { content: [{ text: JSON.stringify({ who: inputResponses.who }) }] } },
    });
  });
});

/** States are sealed, and no two are the same. */
function withoutState({ status, body }: { readonly status: number; readonly body: JsonObject }): object {
  const text = JSON.stringify(body).replace(/"requestState":"[^"]+"/, '"requestState":"…"');
  return { status, body: JSON.parse(text) };
}

describe("A plain call in a session of 2025-11-25 is answered as the SDK answers the same call", () => {
  async function open(server: Server, capabilities: JsonObject = {}, onHead: () => void = () => {}) {
    const headers: Record<string, string> = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      authorization: `Bearer ${TOKENS["alice"]}`,
    };
    const post = async (message: object): Promise<{ type: string | null; body: JsonObject | undefined }> => {
      const body = JSON.stringify({ jsonrpc: "2.0", ...message });
      const response = await fetch(urlOf(server), { method: "POST", headers, body });
      const id = response.headers.get("mcp-session-id");
      // The SDK's streams name the session.
      if (id === null && response.headers.get("content-type") === "text/event-stream") onHead();
      if (id !== null) headers["mcp-session-id"] = id;
      const text = await response.text();
      const json = text.startsWith("{") ? text : /^data: (\{.*"id".*)$/m.exec(text)?.[1];
      return {
        type: response.headers.get("content-type"),
        body: json === undefined ? undefined : JSON.parse(json),
      };
    };
    const clientInfo = { name: "test", version: "1" };
    const params = { protocolVersion: "2025-11-25", capabilities, clientInfo };
    await post({ id: 0, method: "initialize", params });
    headers["mcp-protocol-version"] = "2025-11-25";
    await post({ method: "notifications/initialized" });
    return post;
  }

  test.each([
    ["text", {}],
    ["text", { deep: [{ ü: "☃" }] }],
    ["structured", {}],
    ["image", {}],
    ["fail", {}],
    ["annotated", {}],
    ["capabilities", {}],
    ["region", { region: "eu" }],
    ["absent", {}],
    ["ask", {}],
  ])("%s, and the arguments %j", async (name, args) => {
    const post = await open(await start());
    const params = { name, arguments: args };
    const plain = await post({ id: 1, method: "tools/call", params });
    const bySdk = await post({
      id: 1,
      method: "tools/call",
      params: { ...params, _meta: { progressToken: 1 } },
    });
    expect(plain.body).toEqual(bySdk.body);
    expect([plain.type, bySdk.type]).toEqual(["application/json", "text/event-stream"]);
  });

  test("a result that is no valid one is an error", async () => {
    const post = await open(await start());
    const { body } = await post({ id: 1, method: "tools/call", params: { name: "unknown_block" } });
    expect(body).toMatchObject({ id: 1, error: { code: -32_602 } });
  });

  test("its tool can see what the client declared", async () => {
    const post = await open(await start(), { experimental: { "a.example/b": {} } });
    const { type, body } = await post({ id: 1, method: "tools/call", params: { name: "capabilities" } });
    expect(type).toBe("application/json");
    expect(body).toMatchObject({
      result: { content: [{ text: JSON.stringify({ experimental: { "a.example/b": {} } }) }] },
    });
  });

  test("the answer to one that takes long is a stream, whose connection is not idle", async () => {
    const begun = Promise.withResolvers<void>();
    const server = await startMcpServer([
      tool("wait", async () => {
        await begun.promise;
        return "done";
      }),
    ]);
    const post = await open(server, {}, () => begun.resolve());
    const { type, body } = await post({ id: 1, method: "tools/call", params: { name: "wait" } });
    expect(type).toBe("text/event-stream");
    expect(body).toMatchObject({ id: 1, result: { content: [{ text: "done" }] } });
  });

  test("a client that can be asked gets a stream", async () => {
    const post = await open(await start(), { elicitation: {} });
    const { type } = await post({ id: 1, method: "tools/call", params: { name: "text" } });
    expect(type).toBe("text/event-stream");
  });

  test("the client can cancel it, and call again", async () => {
    let aborted = false;
    const server = await startMcpServer([
      tool("hang", (_input: never, { signal }: { signal: AbortSignal }) => {
        return new Promise((resolve) => {
          signal.addEventListener("abort", () => {
            aborted = true;
            resolve("late");
          });
        });
      }),
    ]);
    const post = await open(server);
    const call = post({ id: "a", method: "tools/call", params: { name: "hang" } });
    await expect
      .poll(async () => {
        await post({ method: "notifications/cancelled", params: { requestId: "a" } });
        return aborted;
      })
      .toBe(true);
    expect((await call).body).toBeUndefined();
    expect((await post({ id: 1, method: "ping" })).body).toEqual({ jsonrpc: "2.0", id: 1, result: {} });
  });
});

describe("readPlainCall", () => {
  const META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const PARAMS = { name: "text", arguments: { a: 1 }, _meta: META };
  const MESSAGE = { jsonrpc: "2.0", id: 1, method: "tools/call", params: PARAMS };
  const read = (message: object) => readPlainCall(sdk, message as JsonObject, () => "text");
  const withMeta = (meta: object) => ({ ...MESSAGE, params: { ...PARAMS, _meta: { ...META, ...meta } } });
  const withParams = (params: object) => ({ ...MESSAGE, params: { ...PARAMS, ...params } });

  test("reads a call that says everything in one request", () => {
    expect(read(MESSAGE)).toMatchObject({ id: 1, name: "text", arguments: { a: 1 }, envelope: META });
  });

  test.each([
    ["another version of JSON-RPC", { ...MESSAGE, jsonrpc: "1.0" }],
    ["an id that is no integer", { ...MESSAGE, id: 1.5 }],
    ["no id", { jsonrpc: "2.0", method: "tools/call", params: PARAMS }],
    ["a further member", { ...MESSAGE, result: {} }],
    ["another method", { ...MESSAGE, method: "tools/list" }],
    ["another name than the header", withParams({ name: "other" })],
    ["arguments that are no object", withParams({ arguments: [] })],
    ["a state", withParams({ requestState: "x" })],
    ["responses", withParams({ inputResponses: {} })],
    ["another revision", withMeta({ "io.modelcontextprotocol/protocolVersion": "2027-01-01" })],
    ["a token for progress", withMeta({ progressToken: 1 })],
    ["a level of logs", withMeta({ "io.modelcontextprotocol/logLevel": "info" })],
    ["capabilities that are no object", withMeta({ "io.modelcontextprotocol/clientCapabilities": 1 })],
    ["a client without a version", withMeta({ "io.modelcontextprotocol/clientInfo": { name: "x" } })],
    ["no envelope", withParams({ _meta: undefined })],
  ])("leaves to the SDK: %s", (_what, message) => {
    expect(read(JSON.parse(JSON.stringify(message)))).toBeUndefined();
  });
});
