import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { bodyOf, type Served, serve, serveByHand } from "./http-servers.ts";
import { open } from "./open-hostile.ts";

/** Writes until the client has gone. */
function writeForever(response: ServerResponse, piece: string): void {
  if (!response.destroyed) response.write(piece, () => setImmediate(() => writeForever(response, piece)));
}

const X = { name: "x", inputSchema: { type: "object" } };
const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });

/** Serves 2025-11-25, with calls and the stream of `GET` as a test says. */
function serveLegacy(
  call: (id: number | string, response: ServerResponse) => void,
  get: (response: ServerResponse) => void = (response) => void response.writeHead(405).end(),
): Promise<Served> {
  return serve(async (request, response) => {
    if (request.method === "GET") return get(response);
    const { id, method } = await bodyOf(request);
    const results: Record<string, object> = {
      initialize: {
        protocolVersion: "2025-11-25",
        capabilities: { tools: {} },
        serverInfo: { name: "old", version: "1" },
      },
      "tools/list": { tools: [X] },
      // Sent when a call has run out of time.
      ping: {},
    };
    if (method === "tools/call" && id !== undefined) return call(id, response);
    const result = results[method];
    if (result === undefined) return void response.writeHead(id === undefined ? 202 : 400).end();
    response.setHeader("content-type", "application/json");
    return void response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
  });
}

test.each([
  "2",
  3_000,
  null,
])("A body that answers another request fails its call at once: %j", async (id) => {
  await using served = await serveLegacy((_id, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result: { content: [] } }));
  });
  await using opened = await open({ web: served.options });
  expect(await opened.call("mcp_web_x")).toMatchObject({
    error: {
      code: "execution_error",
      effect: "unknown",
      message: "The tool's server returned no valid result",
    },
  });
});

test("A byte order mark before an answer is skipped", async () => {
  await using served = await serveLegacy((id, response) => {
    response.setHeader("content-type", "application/json");
    response.end(`\ufeff${JSON.stringify({ jsonrpc: "2.0", id, result: text("read") })}`);
  });
  await using opened = await open({ web: served.options });
  expect(await opened.call("mcp_web_x")).toMatchObject({ success: true, output: text("read") });
});

describe("The stream of a call over HTTP", () => {
  test("is closed when the call was cancelled, also by a server that does not end it", async () => {
    let closed = 0;
    await using served = await serveLegacy((_id, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).write(": here\n\n");
      response.once("close", () => closed++);
    });
    await using opened = await open({ web: served.options });
    for (let count = 0; count < 3; count++) {
      const { error } = await opened.call("mcp_web_x", {}, { wallTimeMs: 200 });
      expect(error).toMatchObject({ code: "timeout", effect: "unknown" });
    }
    await expect.poll(() => closed, { timeout: 5_000 }).toBe(3);
  });

  test("is closed after its answer, also by a server that does not end it", async () => {
    let isClosed = false;
    await using served = await serveByHand([X], (id, response) => {
      const answer = { jsonrpc: "2.0", id, result: { resultType: "complete", content: [] } };
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(`data: ${JSON.stringify(answer)}\n\n`);
      response.once("close", () => {
        isClosed = true;
      });
    });
    await using opened = await open({ web: served.options });
    expect((await opened.call("mcp_web_x")).success).toBe(true);
    await expect.poll(() => isClosed, { timeout: 5_000 }).toBe(true);
  });

  test("is not opened again and again after the call was cancelled", async () => {
    let opens = 0;
    const resumable = (response: ServerResponse): void => {
      opens++;
      response.writeHead(200, { "content-type": "text/event-stream" }).end("retry: 1\nid: 7\ndata:\n\n");
    };
    let isCalled = false;
    // The stream of the session is another one, which a client may open again.
    await using served = await serveLegacy(
      (_id, response) => {
        isCalled = true;
        resumable(response);
      },
      (response) => (isCalled ? resumable(response) : void response.writeHead(405).end()),
    );
    await using opened = await open({ web: served.options });
    await opened.call("mcp_web_x", {}, { wallTimeMs: 1_300 });
    expect(opens).toBeGreaterThan(1);
    const before = opens;
    // Three pauses of a client that goes on.
    await new Promise((resolve) => setTimeout(resolve, 1_600));
    expect(opens).toBe(before);
  });
});

describe("An answer over HTTP that has more than one meaning fails the call", () => {
  const answer = (id: unknown, version: string): string =>
    `{${version}:"2.0","id":${JSON.stringify(id)},"result":{"content":[],"structuredContent":{"n":1,"n":9007199254740993}}}`;

  test.each<[string, number, string, string]>([
    ["with another status", 203, "application/json", '"jsonrpc"'],
    ["with an escape in a name", 200, "application/json", '"json\\u0072pc"'],
    ["in an event stream in upper case", 200, "TEXT/Event-Stream", '"json\\u0072pc"'],
    ["in an event stream with another status", 203, " Text/event-stream; a=b", '"jsonrpc"'],
  ])("%s", async (_, status, type, version) => {
    await using served = await serveByHand([X], (id, response) => {
      response.writeHead(status, { "content-type": type });
      const text = answer(id, version);
      response.end(type.startsWith("application/json") ? text : `data: ${text}\n\n`);
    });
    await using opened = await open({ web: served.options });
    const { error } = await opened.call("mcp_web_x");
    expect(error).toMatchObject({ code: "execution_error", effect: "unknown" });
    expect(error?.message).toMatch(
      /^The tool's server returned no valid result: the message is not usable JSON/,
    );
  });
});

test("What an HTTP error says is shortened before events have it", async () => {
  await using served = await serveByHand([X], (_id, response) => {
    response.writeHead(500, { "content-type": "text/plain" }).end("x".repeat(1_000_000));
  });
  await using opened = await open({ web: served.options });
  await opened.call("mcp_web_x");
  expect(JSON.stringify(opened.seen).length).toBeLessThan(50_000);
});

test("A server does not flood the log with its own messages", async () => {
  await using served = await serveByHand([X], (id, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const log = { jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: "x" } };
    response.write(`data: ${JSON.stringify(log)}\n\n`.repeat(500));
    const answer = { jsonrpc: "2.0", id, result: { resultType: "complete", content: [] } };
    response.end(`data: ${JSON.stringify(answer)}\n\n`);
  });
  const from = performance.now();
  await using opened = await open({ web: served.options });
  expect((await opened.call("mcp_web_x")).success).toBe(true);
  // Those that the call was a part of.
  const seconds = Math.floor((performance.now() - from) / 1_000) + 2;
  const logs = opened.notices.filter(({ kind }) => kind === "log").map(({ message }) => message);
  expect(logs.length).toBeGreaterThan(0);
  expect(logs.length).toBeLessThanOrEqual(21 * seconds);
  expect(logs).toContain("(more messages, which are left out)");
});

test("A server does not flood the log with malformed tools", async () => {
  const tools = Array.from({ length: 500 }, (_, index) => ({ name: `t${index}`, inputSchema: "x" }));
  await using served = await serveByHand([X, ...tools], () => {});
  await using opened = await open({ web: served.options });
  expect(opened.registry.names).toEqual(["mcp_web_x"]);
  expect(opened.notices.filter(({ kind }) => kind === "problem")).toHaveLength(51);
  expect(opened.notices.at(-1)?.message).toBe("450 more of its tools and offers cannot be used");
});

test("Servers share a bounded room for unfinished answers, and each has its part", async () => {
  const piece = Buffer.alloc(256 * 1_024, "x");
  let began = 0;
  await using greedy = await serveByHand([X], (_id, response) => {
    began++;
    response.writeHead(200, { "content-type": "application/json" });
    for (let count = 0; count < 15; count++) response.write(piece);
  });
  await using modest = await serveByHand([X], (id, response) => {
    const answer = { jsonrpc: "2.0", id, result: { resultType: "complete", content: [] } };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
  });
  await using opened = await open({ greedy: greedy.options, modest: modest.options });
  const ending = new AbortController();
  const { signal } = ending;
  const refused = Promise.withResolvers<void>();
  // 64 MiB are room for seventeen.
  const calls = Array.from({ length: 24 }, async () => {
    const { error } = await opened.call("mcp_greedy_x", {}, { signal, wallTimeMs: 60_000 });
    if (error?.code === "sandbox_unavailable") refused.resolve();
    return error?.code;
  });
  await refused.promise;
  expect((await opened.call("mcp_modest_x")).success).toBe(true);
  ending.abort();
  expect(new Set(await Promise.all(calls))).toEqual(new Set(["sandbox_unavailable", "cancelled"]));
  expect(began).toBeGreaterThan(16);
});

describe("A hostile MCP server over HTTP", () => {
  test.each<[string, string, string]>([
    [
      "a number that a double cannot hold",
      "application/json",
      '{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","content":[],"structuredContent":{"n":9007199254740993}}}',
    ],
    [
      "such a number in an event",
      "text/event-stream",
      'data: {"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","content":[],"structuredContent":{"n":9007199254740993}}}\n\n',
    ],
    [
      "one member twice",
      "application/json",
      '{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","content":[],"content":[]}}',
    ],
    [
      "content that is not a list",
      "application/json",
      '{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","content":"x"}}',
    ],
    ["no JSON", "application/json", '{"jsonrpc":"2.0",'],
  ])("whose answer has %s fails the call at once", async (_, type, body) => {
    await using served = await serveByHand([X], (id, response) => {
      response.setHeader("content-type", type);
      response.end(body.replace("ID", String(id)));
    });
    await using opened = await open({ web: served.options });
    expect((await opened.call("mcp_web_x")).error).toMatchObject({
      code: "execution_error",
      message: expect.stringMatching(/^The tool's server returned no valid result/),
      effect: "unknown",
    });
  });

  test("whose document never ends fails the call when it is too large", async () => {
    await using served = await serveByHand([X], (_id, response) => {
      response.setHeader("content-type", "application/json");
      writeForever(response, "x".repeat(1_000_000));
    });
    await using opened = await open({ web: served.options });
    expect((await opened.call("mcp_web_x")).error).toMatchObject({
      code: "sandbox_unavailable",
      effect: "unknown",
    });
  });

  test("whose event never ends fails the call when it is too large", async () => {
    await using served = await serveByHand([X], (_id, response) => {
      response.setHeader("content-type", "text/event-stream");
      writeForever(response, "data: xxxxxxxx\n".repeat(10_000));
    });
    await using opened = await open({ web: served.options });
    expect((await opened.call("mcp_web_x")).error).toMatchObject({
      code: "sandbox_unavailable",
      effect: "unknown",
    });
  });

  test("is not followed to another place", async () => {
    await using other = await serve((_request, response) => response.end("{}"));
    await using served = await serveByHand([X], (_id, response) => {
      response.writeHead(307, { location: other.options.url }).end();
    });
    await using opened = await open({ web: served.options });
    expect((await opened.call("mcp_web_x")).error).toMatchObject({ code: "sandbox_unavailable" });
    expect(other.requests).toEqual([]);
  });

  test("at an address that is not public is reached only if it is named", async () => {
    await using served = await serveByHand([X], () => {});
    const { url } = served.options;
    await using opened = await open({ web: { url } });
    expect(opened.mcp.servers.get("web")?.problem).toContain("the server cannot be connected to");
    expect(served.requests).toEqual([]);
  });

  test("that is gone has no effect, and one that hangs up may have had one", async () => {
    const served = await serveByHand([X], (_id, response) => response.destroy());
    await using opened = await open({ web: served.options });
    expect((await opened.call("mcp_web_x")).error).toMatchObject({
      code: "sandbox_unavailable",
      effect: "unknown",
    });
    await served[Symbol.asyncDispose]();
    expect((await opened.call("mcp_web_x")).error).toMatchObject({
      code: "sandbox_unavailable",
      effect: "none",
    });
  });

  test("that hangs up is asked once more if the tool only reads", async () => {
    let calls = 0;
    await using served = await serveByHand([X], (id, response) => {
      if (calls++ === 0) return response.destroy();
      response.setHeader("content-type", "application/json");
      return response.end(
        JSON.stringify({ jsonrpc: "2.0", id, result: { resultType: "complete", ...text("ok") } }),
      );
    });
    await using opened = await open({ web: served.options }, { classes: { "mcp_web_*": "read" } });
    expect((await opened.call("mcp_web_x")).output).toEqual(text("ok"));
    expect(calls).toBe(2);
  });

  test("that asks to be asked again at once gets a pause", async () => {
    await using served = await serveByHand([X], (_id, response) => {
      response.setHeader("content-type", "text/event-stream");
      response.end("id: 1\nretry: 0\ndata:\n\n");
    });
    await using opened = await open({ web: served.options });
    await opened.call("mcp_web_x", {}, { wallTimeMs: 1_000 });
    expect(served.requests.length).toBeLessThan(10);
    expect(opened.notices.map(({ message }) => message)).toContain(
      "it asks for a pause of 0 ms, and gets one of 500 ms",
    );
  });
});
