import type { ServerResponse } from "node:http";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { bodyOf, type Served, serve } from "./http-servers.ts";
import { open } from "./open-hostile.ts";

const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });

/** Serves the transport of 2024-11-05 with the SDK's server, which refuses all other requests. */
async function serveSse(sessions: Map<string, SSEServerTransport> = new Map()): Promise<Served> {
  const served = await serve(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://localhost");
    if (request.method === "GET" && pathname === "/mcp") {
      const transport = new SSEServerTransport("/messages", response);
      sessions.set(transport.sessionId, transport);
      response.once("close", () => sessions.delete(transport.sessionId));
      const server = new McpServer({ name: "old", version: "1" }, { instructions: "Say please" });
      server.registerTool(
        "x",
        { inputSchema: { a: z.string().optional() } },
        async ({ a }, { sendNotification, _meta }) => {
          const progressToken = _meta?.progressToken;
          if (progressToken !== undefined)
            await sendNotification({
              method: "notifications/progress",
              params: { progressToken, progress: 1, message: "halfway" },
            });
          if (a === "hang") await new Promise(() => {});
          return text(`got ${a} at ${transport.sessionId}`);
        },
      );
      return void (await server.connect(transport));
    }
    const transport = sessions.get(searchParams.get("sessionId") ?? "");
    if (request.method !== "POST" || pathname !== "/messages")
      return void response.writeHead(404).end("Cannot POST /mcp");
    if (transport === undefined) return void response.writeHead(404).end("no such session");
    await transport.handlePostMessage(request, response);
  });
  return served;
}

test("The SDK's server of HTTP+SSE is listed and called, with progress, and calls are cancelled", async () => {
  const sessions = new Map<string, SSEServerTransport>();
  await using served = await serveSse(sessions);
  await using opened = await open({ old: served.options });
  expect(opened.registry.names).toEqual(["mcp_old_x"]);
  expect(opened.mcp.servers.get("old")?.info).toMatchObject({ name: "old", instructions: "Say please" });
  const answer = await opened.call("mcp_old_x", { a: "it" });
  expect(answer.output).toEqual(text(`got it at ${[...sessions.keys()][0]}`));
  expect(JSON.stringify(opened.seen)).toContain("halfway");
  const { error } = await opened.call("mcp_old_x", { a: "hang" }, { wallTimeMs: 300 });
  expect(error).toMatchObject({ code: "timeout", effect: "unknown" });
  expect((await opened.call("mcp_old_x", { a: "again" })).success).toBe(true);
  await opened.mcp.close();
  await expect.poll(() => sessions.size).toBe(0);
});

test("A stream that ended is replaced by another session, and an open call is not repeated", async () => {
  const sessions = new Map<string, SSEServerTransport>();
  await using served = await serveSse(sessions);
  await using opened = await open({ old: served.options });
  expect((await opened.call("mcp_old_x", { a: "first" })).success).toBe(true);
  const [first] = sessions.values();
  const hanging = opened.call("mcp_old_x", { a: "hang" });
  await expect.poll(() => served.requests.length).toBeGreaterThan(6);
  await first?.close();
  expect((await hanging).error).toMatchObject({ code: "sandbox_unavailable", effect: "unknown" });
  const { output } = await opened.call("mcp_old_x", { a: "second" });
  expect(JSON.stringify(output)).toContain("got second");
  expect(JSON.stringify(output)).not.toContain(first?.sessionId);
});

describe("A hostile server of HTTP+SSE", () => {
  /** Serves a stream as a test says, and answers messages with 202. */
  async function serveStream(
    begin: (response: ServerResponse, send: (event: string, data: string) => void) => void,
    onMessage: (
      message: { id?: number | string; method: string },
      send: (event: string, data: string) => void,
    ) => void = () => {},
  ): Promise<Served> {
    let send = (_event: string, _data: string): void => {};
    return await serve(async (request, response) => {
      if (request.method === "GET") {
        response.writeHead(200, { "content-type": "text/event-stream" });
        send = (event, data) => void response.write(`event: ${event}\ndata: ${data}\n\n`);
        return begin(response, send);
      }
      if (!request.url?.startsWith("/messages")) return void response.writeHead(405).end();
      const message = await bodyOf(request);
      response.writeHead(202).end("Accepted");
      onMessage(message, send);
    });
  }

  const RESULTS: Record<string, object> = {
    initialize: {
      protocolVersion: "2024-11-05",
      capabilities: { tools: {} },
      serverInfo: { name: "old", version: "1" },
    },
    "tools/list": { tools: [{ name: "x", inputSchema: { type: "object" } }] },
    "tools/call": { content: [] },
  };
  const answer = (
    { id, method }: { id?: number | string; method: string },
    send: (event: string, data: string) => void,
  ): void => {
    if (id !== undefined)
      send("message", JSON.stringify({ jsonrpc: "2.0", id, result: RESULTS[method] ?? {} }));
  };

  test.each([
    ["another port", "http://127.0.0.1:9/messages"],
    ["another host", "//example.com/messages"],
    ["another scheme", "https://127.0.0.1/messages"],
    ["a file", "file:///etc/passwd"],
    ["an endless path", `/${"a".repeat(10_000)}`],
    ["no address", "http://"],
  ])("cannot have messages sent elsewhere: %s", async (_what, address) => {
    await using served = await serveStream((_response, send) => send("endpoint", address), answer);
    await using opened = await open({ old: served.options });
    expect(opened.registry.names).toEqual([]);
    expect(opened.mcp.servers.get("old")?.problem).toContain("another origin");
    expect(served.requests.every(({ url }) => url === "/mcp")).toBe(true);
  });

  test("cannot change the address for messages afterwards", async () => {
    await using served = await serveStream((_response, send) => {
      send("endpoint", "/messages?first");
      send("endpoint", "/messages?second");
      send("endpoint", "http://127.0.0.1:9/messages");
    }, answer);
    await using opened = await open({ old: served.options });
    expect((await opened.call("mcp_old_x")).success).toBe(true);
    const posted = served.requests.filter(({ method, url }) => method === "POST" && url !== "/mcp");
    expect(new Set(posted.map(({ url }) => url))).toEqual(new Set(["/messages?first"]));
  });

  test("does not get the credentials of its address in those for messages", async () => {
    await using served = await serveStream(
      (response, send) => send("endpoint", `http://user:secret@${response.req.headers.host}/messages`),
      answer,
    );
    await using opened = await open({ old: served.options });
    expect(opened.registry.names).toEqual([]);
  });

  test("fails a call whose answer cannot be used, and answers that belong to no request are ignored", async () => {
    await using served = await serveStream(
      (_response, send) => send("endpoint", "/messages"),
      (message, send) => {
        if (message.method !== "tools/call") return answer(message, send);
        send("message", '{"jsonrpc":"2.0","id":999,"result":{"content":[]}}');
        send("other", "no JSON");
        send("message", `{"jsonrpc":"2.0","id":${message.id},"result":{"content":[],"a":9007199254740993}}`);
      },
    );
    await using opened = await open({ old: served.options });
    const { error } = await opened.call("mcp_old_x");
    expect(error).toMatchObject({ code: "execution_error", effect: "unknown" });
    expect(opened.notices.map(({ message }) => message)).toContainEqual(
      "it answered a request that is not open",
    );
  });

  test("cannot use up the memory with an event that does not end", async () => {
    let begun = 0;
    await using served = await serveStream(
      (_response, send) => {
        begun++;
        send("endpoint", "/messages");
      },
      (message, send) => {
        if (message.method !== "tools/call") return answer(message, send);
        for (let piece = 0; piece < 20; piece++) send("message", "x".repeat(1_000_000));
        send("message", `"${"y".repeat(20_000_000)}`);
      },
    );
    await using opened = await open({ old: served.options });
    const { error } = await opened.call("mcp_old_x");
    expect(error).toMatchObject({ code: "sandbox_unavailable", effect: "unknown" });
    await expect.poll(() => begun, { timeout: 5_000 }).toBeGreaterThan(1);
  });

  test("that has neither transport is described by both refusals", async () => {
    await using served = await serve(
      (_request, response) => void response.writeHead(404).end("nothing here"),
    );
    await using opened = await open({ old: served.options });
    expect(opened.mcp.servers.get("old")?.problem).toMatch(/nothing here; and over HTTP\+SSE: .*HTTP 404/);
  });
});
