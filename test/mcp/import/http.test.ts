import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { fromJsonSchema } from "@modelcontextprotocol/server";
import { describe, expect, test } from "vitest";
import { LockPins, registeredDefinitions } from "../../../src/pins/lock-file.ts";
import { bodyOf, serve, serveByHand, serveTools } from "./http-servers.ts";
import { open } from "./open-hostile.ts";

const ADD = {
  description: "Adds.",
  inputSchema: fromJsonSchema<{ a: number; b: number }>({
    type: "object",
    properties: { a: { type: "number" }, b: { type: "number" } },
    required: ["a", "b"],
  }),
};

const X = { name: "x", inputSchema: { type: "object" } };
const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });

describe("An MCP server of 2026-07-28 over HTTP", () => {
  test("is spoken to without a session, with its headers", async () => {
    await using served = await serveTools((server) => {
      server.registerTool("add", ADD, ({ a, b }) => text(String(a + b)));
    });
    const headers = { authorization: "Bearer secret" };
    await using opened = await open({ web: { ...served.options, headers } });
    expect(opened.mcp.servers.get("web")?.info).toMatchObject({
      protocolVersion: "2026-07-28",
      name: "of the SDK",
    });
    expect((await opened.call("mcp_web_add", { a: 1, b: 2 })).output).toEqual(text("3"));
    const sent = served.requests.map(({ headers }) => headers);
    expect(sent.at(-1)).toMatchObject({
      authorization: "Bearer secret",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": "add",
    });
    expect(sent.every((each) => each["mcp-session-id"] === undefined)).toBe(true);
  });

  test("is told of a cancellation by the end of the stream", async () => {
    const cancelled = Promise.withResolvers<void>();
    await using served = await serveTools((server) => {
      server.registerTool("wait", { description: "Waits." }, async (ctx) => {
        await once(ctx.mcpReq.signal, "abort");
        cancelled.resolve();
        return text("too late");
      });
    });
    await using opened = await open({ web: served.options });
    const { error } = await opened.call("mcp_web_wait", {}, { wallTimeMs: 300 });
    expect(error).toMatchObject({ code: "timeout", effect: "unknown" });
    await cancelled.promise;
  });

  test("reports progress", async () => {
    await using served = await serveTools((server) => {
      server.registerTool("slow", { description: "Slow." }, async (ctx) => {
        const { progressToken } = ctx.mcpReq._meta ?? {};
        if (progressToken !== undefined) {
          await ctx.mcpReq.notify({
            method: "notifications/progress",
            params: { progressToken, progress: 1, message: "one" },
          });
        }
        return text("done");
      });
    });
    await using opened = await open({ web: served.options });
    expect((await opened.call("mcp_web_slow")).success).toBe(true);
    expect(opened.seen).toContainEqual(expect.objectContaining({ type: "tool.output", chunk: "one\n" }));
  });

  test("has tools with an invalid x-mcp-header left out, and the arguments of others sent as headers", async () => {
    const schema = (header: unknown, type = "string") => ({
      type: "object",
      properties: { region: { type, "x-mcp-header": header } },
    });
    const tools = [
      { name: "right", inputSchema: schema("Region") },
      { name: "space", inputSchema: schema("Re gion") },
      { name: "empty", inputSchema: schema("") },
      { name: "object", inputSchema: schema("Region", "object") },
      {
        name: "nested",
        inputSchema: {
          type: "object",
          properties: { a: { type: "array", items: { type: "string", "x-mcp-header": "A" } } },
        },
      },
    ];
    let header: unknown;
    await using served = await serveByHand(tools, (id, response, request) => {
      header = request.headers["mcp-param-region"];
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ jsonrpc: "2.0", id, result: { resultType: "complete", ...text("ok") } }));
    });
    await using opened = await open({ web: served.options });
    expect(opened.registry.names).toEqual(["mcp_web_right"]);
    expect((await opened.call("mcp_web_right", { region: "eu" })).success).toBe(true);
    expect(header).toBe("eu");
  });

  test("that finds other headers than it wants has its tools listed again, and approved again", async () => {
    let lists = 0;
    let tool: object = X;
    await using served = await serve(async (request, response) => {
      const { id = 0, method } = await bodyOf(request);
      if (method === "tools/list") lists++;
      const error = { code: -32_020, message: "Header mismatch" };
      const results: Record<string, object> = {
        "server/discover": { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } },
        "tools/list": { tools: [tool] },
      };
      const result = results[method] && {
        resultType: "complete",
        ttlMs: 0,
        cacheScope: "private",
        ...results[method],
      };
      response.writeHead(result ? 200 : 400, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id, ...(result ? { result } : { error }) }));
    });
    await using opened = await open({ web: served.options });
    const { registry } = opened;
    registry.pins = new LockPins(registeredDefinitions(registry, new Map()));
    const region = { type: "string", "x-mcp-header": "Region" };
    tool = { ...X, inputSchema: { type: "object", properties: { region } } };
    expect((await opened.call("mcp_web_x")).error).toMatchObject({
      message: "Header mismatch",
      effect: "none",
    });
    await expect.poll(() => lists).toBe(2);
    await expect.poll(() => registry.definitions()).toEqual([]);
    expect((await opened.call("mcp_web_x")).error?.code).toBe("permission_denied");
  });

  test.each<[string, object]>([
    ["without resultType", text("ok")],
    ["with resultType", { resultType: "complete", ...text("ok") }],
  ])("answers %s", async (_, result) => {
    await using served = await serveByHand([X], (id, response) => {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    });
    await using opened = await open({ web: served.options });
    expect((await opened.call("mcp_web_x")).metadata).toEqual({ mcp: text("ok") });
  });

  test("that answers with an unknown resultType, or wants what cannot be given, fails the call", async () => {
    let result: object = { resultType: "later" };
    await using served = await serveByHand([X], (id, response) => {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    });
    await using opened = await open({ web: served.options });
    expect((await opened.call("mcp_web_x")).error).toMatchObject({
      code: "execution_error",
      effect: "unknown",
    });
    result = {
      resultType: "input_required",
      inputRequests: { a: { method: "elicitation/create", params: { message: "?" } } },
    };
    expect((await opened.call("mcp_web_x")).error).toMatchObject({
      code: "execution_error",
      effect: "unknown",
    });
  });
});

test.each<
  [string, (served: Awaited<ReturnType<typeof serveByHand>>, id: unknown, response: ServerResponse) => void]
>([
  [
    "cannot be reached",
    ({ server }) => {
      server.close();
      server.closeAllConnections();
    },
  ],
  [
    "refuses the next request",
    (_, id, response) => {
      const error = { code: -32_022, message: "Unsupported protocol version" };
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ jsonrpc: "2.0", id, error }));
    },
  ],
])("A call whose server wants to be asked again, and then %s, may have had an effect", async (_, end) => {
  let requests = 0;
  await using served = await serveByHand([X], (id, response) => {
    if (++requests > 1) return end(served, id, response);
    const result = { resultType: "input_required", inputRequests: {}, requestState: "begun" };
    response.setHeader("connection", "close");
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    if (end.length === 1) response.once("finish", () => end(served, id, response));
  });
  await using opened = await open({ web: served.options });
  expect((await opened.call("mcp_web_x")).error).toMatchObject({ effect: "unknown" });
  expect(requests).toBe(end.length === 1 ? 1 : 2);
});

describe("An MCP server of 2025-11-25 over HTTP", () => {
  test("is found out by a 400, and gets a session", async () => {
    await using served = await serve(async (request, response) => {
      let body = "";
      for await (const chunk of request) body += String(chunk);
      const { id, method, params } =
        body === "" ? { id: 0, method: request.method, params: {} } : JSON.parse(body);
      const json = (result: object): void => {
        response.setHeader("content-type", "application/json");
        response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
      };
      if (method === "server/discover") response.writeHead(400).end("Bad Request: no session");
      else if (method === "initialize") {
        response.setHeader("mcp-session-id", "s1");
        json({
          protocolVersion: params.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: "old", version: "1" },
        });
      } else if (method === "tools/list") json({ tools: [X] });
      else if (method === "tools/call") json(text(String(request.headers["mcp-session-id"])));
      else response.writeHead(method === "notifications/initialized" ? 202 : 405).end();
    });
    await using opened = await open({ web: served.options });
    expect(opened.mcp.servers.get("web")?.info).toMatchObject({ protocolVersion: "2025-11-25", name: "old" });
    expect((await opened.call("mcp_web_x")).output).toEqual(text("s1"));
  });
});
