import * as sdk from "@modelcontextprotocol/server";
import { describe, expect, test } from "vitest";
import { defineTool, type Tool } from "../../../src/engine/tool.ts";
import type { JsonObject } from "../../../src/json/value.ts";
import { readPlainCall } from "../../../src/mcp/server/call-directly.ts";
import type { Server } from "../../../src/server/server.ts";
import { send, startMcpServer } from "./harness.ts";

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
