import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { bodyOf, type Served, serve, serveByHand } from "./http-servers.ts";
import { open } from "./open-hostile.ts";

// Calls go to servers past the SDK's client, except those whose arguments are sent as headers. What servers answer must mean the same.

const text = { type: "text", text: "t" };

/** What a server answers to a call, after `id`. */
const ANSWERS: Readonly<Record<string, object>> = {
  "a result": { result: { content: [text] } },
  "a complete result": { result: { resultType: "complete", content: [text], _meta: { a: 1 } } },
  "a failure": { result: { content: [text], isError: true } },
  "no content": { result: {} },
  "content that is no list": { result: { content: "t" } },
  "a type of result that is unknown": { result: { resultType: "other", content: [text] } },
  "a type of result that is a number": { result: { resultType: 1, content: [text] } },
  "a request for input without requests": { result: { resultType: "input_required" } },
  "a request for input": {
    result: {
      resultType: "input_required",
      inputRequests: { a: { method: "roots/list", params: {} } },
      requestState: "s",
    },
  },
  "an error": { error: { code: -32_000, message: "out of order", data: { a: 1 } } },
  "an error without a message": { error: { code: -32_000 } },
  "neither result nor error": {},
  "a result that is no object": { result: 1 },
};

/** Serves two equal tools, one of whose arguments is sent as a header, in 2026-07-28. */
function serveAnswer(answer: object, isStream: boolean) {
  return serve(async (request, response) => {
    const { id, method } = await bodyOf(request);
    if (request.method !== "POST") return void response.writeHead(405).end();
    if (id === undefined) return void response.writeHead(202).end();
    const plain = { type: "object", properties: { a: { type: "string" } } };
    const headers = { type: "object", properties: { a: { type: "string", "x-mcp-header": "A" } } };
    const listed = { resultType: "complete", ttlMs: 0, cacheScope: "private" };
    const about = { capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } };
    const results: Record<string, object> = {
      "server/discover": { ...listed, ...about, supportedVersions: ["2026-07-28"] },
      "tools/list": {
        ...listed,
        tools: [
          { name: "plain", inputSchema: plain },
          { name: "headers", inputSchema: headers },
        ],
      },
    };
    const result = results[method];
    const missing = { error: { code: -32_601, message: "no" } };
    const body = method === "tools/call" ? answer : result === undefined ? missing : { result };
    const sent = JSON.stringify({ jsonrpc: "2.0", id, ...body });
    const streams = isStream && method === "tools/call";
    response.writeHead(200, { "content-type": streams ? "text/event-stream" : "application/json" });
    response.end(streams ? `: hello\nevent: message\ndata: ${sent}\n\n` : sent);
  });
}

describe("A server that answers", () => {
  const cases = Object.keys(ANSWERS).flatMap((name) => [
    [name, "in a document"] as const,
    [name, "in a stream"] as const,
  ]);
  test.each(cases)("%s %s is understood as the SDK understands it", async (name, form) => {
    await using served = await serveAnswer(ANSWERS[name] ?? {}, form === "in a stream");
    await using opened = await open({ web: served.options });
    const [own, sdk] = await Promise.all(
      ["plain", "headers"].map(async (tool) => {
        const { success, output, error } = await opened.call(`mcp_web_${tool}`, { a: "b" });
        return {
          success,
          output,
          error: error && { ...error, message: error.message.replaceAll(`mcp_web_${tool}`, "TOOL") },
        };
      }),
    );
    expect(own).toEqual(sdk);
  });
});

type Sent = Awaited<ReturnType<typeof bodyOf>>;

/** Serves a tool in 2025-11-25. Other streams than those of calls are for what continues them. */
function serveCalls(
  call: (sent: Sent, response: ServerResponse) => void,
  continued: (lastEventId: string, response: ServerResponse) => void = (_id, response) =>
    response.writeHead(405).end(),
): Promise<Served> {
  return serve(async (request, response) => {
    const sent = await bodyOf(request);
    const { id, method } = sent;
    if (request.method === "GET") {
      const last = request.headers["last-event-id"];
      return last === undefined ? void response.writeHead(405).end() : continued(String(last), response);
    }
    if (id === undefined) return void response.writeHead(202).end();
    if (method === "tools/call") return call(sent, response);
    const about = { capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } };
    const results: Record<string, object> = {
      initialize: { ...about, protocolVersion: "2025-11-25" },
      "tools/list": { tools: [{ name: "x", inputSchema: { type: "object" } }] },
    };
    const result = results[method];
    const answer = result === undefined ? { error: { code: -32_601, message: "no" } } : { result };
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
  });
}

const STREAM = { "content-type": "text/event-stream" };

/** An event with the result of a call. */
function resultOf(id: number | string | undefined): string {
  return `data: ${JSON.stringify({ jsonrpc: "2.0", id, result: { content: [text] } })}\n\n`;
}

describe("A stream that ends before its answer", () => {
  const breaks = (response: ServerResponse): void =>
    void response.writeHead(200, STREAM).end("retry: 500\nid: e1\ndata: \n\n");

  test("is continued after its last event, until there is an answer", async () => {
    const asked: string[] = [];
    let callId: number | string | undefined;
    await using served = await serveCalls(
      ({ id }, response) => {
        callId = id;
        breaks(response);
      },
      (last, response) => {
        asked.push(last);
        if (asked.length === 1) return void response.writeHead(503).end();
        response.writeHead(200, STREAM);
        response.end(asked.length === 2 ? "id: e2\ndata: \n\n" : `id: e3\n${resultOf(callId)}`);
      },
    );
    await using opened = await open({ web: served.options });
    expect((await opened.call("mcp_web_x")).output).toMatchObject({ content: [text] });
    expect(asked).toEqual(["e1", "e1", "e2"]);
  });

  test.each([405, 500])("ends the call if the server answers to that with %i", async (status) => {
    await using served = await serveCalls(
      (_sent, response) => breaks(response),
      (_last, response) => void response.writeHead(status).end(),
    );
    await using opened = await open({ web: served.options });
    const { error } = await opened.call("mcp_web_x");
    expect(error).toMatchObject({ code: "sandbox_unavailable", effect: "unknown" });
  });
});

test("A connection that is closed ends the requests of its calls, also while others use the network", async () => {
  const began = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  await using served = await serveCalls((_sent, response) => {
    response.writeHead(200, STREAM).flushHeaders();
    response.once("close", () => ended.resolve());
    began.resolve();
  });
  await using opened = await open({ web: served.options });
  const call = opened.call("mcp_web_x");
  await began.promise;
  await using _later = await open({}, { reuse: opened.mcp });
  await opened.mcp.close();
  expect((await call).error).toMatchObject({ code: "sandbox_unavailable", effect: "unknown" });
  await ended.promise;
});

test("A server may write the token of a call's progress as a text", async () => {
  await using served = await serveCalls(({ id }, response) => {
    const params = { progressToken: String(id), progress: 1, message: "half" };
    response.writeHead(200, STREAM);
    response.write(
      `data: ${JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress", params })}\n\n`,
    );
    response.end(resultOf(id));
  });
  await using opened = await open({ web: served.options });
  expect((await opened.call("mcp_web_x")).success).toBe(true);
  expect(opened.seen).toContainEqual(expect.objectContaining({ type: "tool.output", chunk: "half\n" }));
});

describe("In 2026-07-28", () => {
  const tool = { name: "x", inputSchema: { type: "object" } };

  test("a server may send null for the requests that it does not make", async () => {
    await using served = await serveByHand([tool], (id, response, _request, params) => {
      response.setHeader("content-type", "application/json");
      const isAgain = "requestState" in params;
      const asks = { resultType: "input_required", inputRequests: null, requestState: "s" };
      const result = isAgain ? { resultType: "complete", content: [text] } : asks;
      response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    });
    await using opened = await open({ web: served.options });
    expect((await opened.call("mcp_web_x")).output).toMatchObject({ content: [text] });
  });

  test("a result with the status of a refusal is none", async () => {
    await using served = await serveByHand([tool], (id, response) => {
      response.writeHead(400, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id, result: { content: [text] } }));
    });
    await using opened = await open({ web: served.options });
    expect((await opened.call("mcp_web_x")).error).toMatchObject({ code: "sandbox_unavailable" });
  });
});
