import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { EventStream } from "../../src/engine/call/events.ts";
import { defineTool } from "../../src/engine/tool.ts";
import { allow, deny, type RuntimePolicy } from "../../src/policy/policy.ts";
import { RulePolicy } from "../../src/policy/rule/rule-policy.ts";
import { readTools } from "../../src/remote-protocol/bodies.ts";
import { StreamReader } from "../../src/remote-protocol/event-stream.ts";
import {
  CountingTool,
  dispatch,
  dispatchBody,
  executionOf,
  HeldTool,
  problemOf,
  send,
  startExecutor,
  until,
} from "./harness.ts";

const JSON_TYPE = { "content-type": "application/json" };

describe("an executor", () => {
  test("an executor dispatches a call and responds with its execution", async () => {
    const executor = await startExecutor([new CountingTool().tool]);
    const answer = await dispatch(executor, dispatchBody({ name: "count", arguments: { a: "é" } }));
    expect(executionOf(answer)).toMatchObject({
      callId: "call",
      toolName: "count",
      success: true,
      output: { a: "é" },
      sandbox: "host",
    });
    expect(answer.headers["content-type"]).toBe("application/json");
  });

  test("an executor responds with an execution even if the call fails", async () => {
    const executor = await startExecutor([new CountingTool().tool]);
    const { success, error } = executionOf(await dispatch(executor, dispatchBody({ name: "nothing" })));
    expect({ success, error }).toMatchObject({
      success: false,
      error: { code: "not_found", message: "Tool 'nothing' not found. Available: [count]", effect: "none" },
    });
  });

  test("an executor lists its tools", async () => {
    const executor = await startExecutor([new CountingTool().tool]);
    const { text } = await send(executor, { method: "GET", path: "/v1/tools" });
    expect(readTools(text).tools).toEqual([
      { name: "count", description: "Returns its input.", inputSchema: { type: "object" } },
    ]);
  });

  test("an executor lists no tools that its policy allows the client in no case", async () => {
    const tools = ["read", "pay"].map((name) => ({ ...new CountingTool().tool, name }));
    const rules = [{ name: "read", effect: "allow", tools: ["read"], sandboxes: ["host"] }] as const;
    const executor = await startExecutor(tools, { policy: new RulePolicy({ rules }) });
    const { text } = await send(executor, { method: "GET", path: "/v1/tools" });
    expect(readTools(text).tools.map(({ name }) => name)).toEqual(["read"]);
  });

  test("an executor streams chunks and log lines, and finally the execution", async () => {
    const tool = defineTool({
      name: "talk",
      description: "Talks.",
      inputSchema: { type: "object" },
      host: async (_, context) => {
        context.onOutput("one\n");
        await new Promise((resolve) => setTimeout(resolve, 1));
        context.logger.warn("careful");
        context.onOutput("two");
        return "done";
      },
    });
    const executor = await startExecutor([tool]);
    const { headers, text } = await dispatch(executor, dispatchBody({ name: "talk" }), {
      headers: { accept: "text/event-stream" },
    });
    expect(headers["content-type"]).toBe("text/event-stream");
    const events = new StreamReader(10_000).push(text).map(({ event, data }) => [event, JSON.parse(data)]);
    expect(events).toEqual([
      ["output", { chunk: "one\n" }],
      ["log", { level: "warn", message: "careful" }],
      ["output", { chunk: "two" }],
      ["execution", expect.objectContaining({ success: true, output: "done" })],
    ]);
  });

  test("an executor emits the events of each call to its own listeners, streamed or not", async () => {
    const events = new EventStream();
    const seen: string[] = [];
    events.on(({ callId, type }) => seen.push(`${callId} ${type}`));
    const executor = await startExecutor([new CountingTool().tool], { events });
    await dispatch(executor, dispatchBody({ id: "a", name: "count" }));
    await dispatch(executor, dispatchBody({ id: "b", name: "count" }), {
      headers: { accept: "text/event-stream" },
    });
    expect(seen).toEqual(
      ["a", "b"].flatMap((id) => [`${id} tool.decided`, `${id} tool.started`, `${id} tool.completed`]),
    );
  });

  test("an executor counts executions, problems and replays", async () => {
    const executor = await startExecutor([new CountingTool().tool]);
    await dispatch(executor, dispatchBody({ id: "a", name: "count" }));
    await dispatch(executor, dispatchBody({ id: "a", name: "count" }));
    await dispatch(executor, dispatchBody({ id: "b", name: "nothing" }));
    await dispatch(executor, "{");
    const { text, headers } = await send(executor, { method: "GET", path: "/metrics" });
    expect(headers["content-type"]).toBe("text/plain; version=0.0.4; charset=utf-8");
    for (const line of [
      'sandgate_executions_total{outcome="ok"} 1',
      'sandgate_executions_total{outcome="not_found"} 1',
      'sandgate_problems_total{code="bad_request"} 1',
      "sandgate_replays_total 1",
      "sandgate_calls_in_flight 0",
      "sandgate_calls_remembered 2",
      'sandgate_dispatch_seconds_bucket{le="+Inf"} 2',
      "sandgate_dispatch_seconds_count 2",
    ]) {
      expect(text.split("\n")).toContain(line);
    }
  });
});

describe("upper bounds", () => {
  const policy: RuntimePolicy = {
    check: () => allow({ sandbox: "quickjs", limits: { wallTimeMs: 5_000 }, capabilities: { clock: true } }),
  };
  const clock = defineTool({
    name: "clock",
    description: "Reads the clock.",
    inputSchema: { type: "object" },
    quickjs: { source: "export default () => Date.now() > 0 && Math.random() >= 0;" },
  });

  test("a call gets no more than its caller and the executor's policy grant", async () => {
    const executor = await startExecutor([clock], { policy });
    const both = await dispatch(
      executor,
      dispatchBody(
        { id: "1", name: "clock" },
        { limits: { wallTimeMs: 60_000 }, capabilities: { clock: true } },
      ),
    );
    expect(executionOf(both).receipt.enforced["wallTimeMs"]).toBe(5_000);
    const stricter = await dispatch(
      executor,
      dispatchBody({ id: "2", name: "clock" }, { limits: { wallTimeMs: 900, memoryBytes: 32_000_000 } }),
    );
    expect(executionOf(stricter).receipt.enforced).toMatchObject({
      wallTimeMs: 900,
      memoryBytes: 32_000_000,
    });
  });

  test("a limit of the caller alone does not raise the sandbox's default", async () => {
    const open: RuntimePolicy = { check: () => allow({ sandbox: "quickjs" }) };
    const executor = await startExecutor([clock], { policy: open });
    const own = executionOf(await dispatch(executor, dispatchBody({ id: "1", name: "clock" })));
    const more = { wallTimeMs: 500_000, memoryBytes: 2 ** 40, outputBytes: 2 ** 40 };
    const answer = await dispatch(executor, dispatchBody({ id: "2", name: "clock" }, { limits: more }));
    expect(executionOf(answer).receipt.enforced).toEqual(own.receipt.enforced);
  });

  test("a call fails if a limit of its caller cannot be enforced", async () => {
    const counting = new CountingTool();
    const executor = await startExecutor([counting.tool]);
    const body = dispatchBody({ name: "count" }, { limits: { memoryBytes: 1_000_000 } });
    expect(executionOf(await dispatch(executor, body)).error).toMatchObject({
      code: "limit_unenforceable",
      effect: "none",
    });
    expect(counting.calls).toBe(0);
  });

  test("a call that the executor's policy or hooks deny does not run, whatever its caller grants", async () => {
    const counting = new CountingTool();
    const denied = await startExecutor([counting.tool], { policy: { check: () => deny("no") } });
    const body = dispatchBody({ name: "count" }, { capabilities: { clock: true, tools: ["*"] } });
    expect(executionOf(await dispatch(denied, body)).error?.code).toBe("permission_denied");
    const aborted = await startExecutor([counting.tool], { hooks: { onToolCall: () => "abort" } });
    expect(executionOf(await dispatch(aborted, body)).error).toMatchObject({
      code: "permission_denied",
      message: "Permission denied: a hook aborted the call",
      effect: "none",
    });
    expect(counting.calls).toBe(0);
  });

  test("a call cannot make nested calls that its caller does not grant", async () => {
    const counting = new CountingTool();
    const outer = defineTool({
      name: "outer",
      description: "Calls another tool.",
      inputSchema: { type: "object" },
      quickjs: { source: "export default (_, { tools }) => tools.call('count', {});" },
    });
    const executor = await startExecutor([outer, counting.tool], {
      policy: {
        check: ({ tool }) =>
          allow(
            tool.name === "outer"
              ? { sandbox: "quickjs", capabilities: { tools: ["*"] } }
              : { sandbox: "host" },
          ),
      },
    });
    const without = await dispatch(executor, dispatchBody({ id: "1", name: "outer" }));
    expect(executionOf(without).success).toBe(false);
    expect(counting.calls).toBe(0);
    const capabilities = { tools: ["count"] };
    executionOf(await dispatch(executor, dispatchBody({ id: "2", name: "outer" }, { capabilities })));
    expect(counting.calls).toBe(1);
  });

  test("a call gets no more time than its caller waits", async () => {
    const held = new HeldTool();
    const executor = await startExecutor([held.tool]);
    const { error, receipt } = executionOf(
      await dispatch(executor, dispatchBody({ name: "hold" }, { timeoutMs: 30 })),
    );
    expect(error?.code).toBe("timeout");
    expect(receipt.enforced.wallTimeMs).toBeLessThanOrEqual(30);
    expect(held.cancelled).toEqual(["call"]);
  });
});

describe("refused requests", () => {
  test.each<[string, string, Parameters<typeof send>[1]]>([
    ["has another path", "404 not_found", { path: "/v1/dispatch?x=1", headers: JSON_TYPE }],
    ["has another method", "405 method_not_allowed", { method: "GET" }],
    ["is not JSON", "415 unsupported_media_type", { headers: { "content-type": "text/plain" }, body: "{}" }],
    [
      "is compressed",
      "415 unsupported_media_type",
      { headers: { ...JSON_TYPE, "content-encoding": "gzip" } },
    ],
    [
      "accepts only other media types",
      "406 not_acceptable",
      { headers: { ...JSON_TYPE, accept: "image/png" } },
    ],
    ["is too large", "413 too_large", { headers: JSON_TYPE, body: " ".repeat(2_000) }],
    ["is not UTF-8", "400 bad_request", { headers: JSON_TYPE, body: "\ud800\u00ff" }],
    ["does not match the schema", "400 bad_request", { headers: JSON_TYPE, body: "{}" }],
    [
      "has another digest",
      "422 altered",
      { headers: { ...JSON_TYPE, "content-digest": "sha-256=:AAAA:" }, body: "{}" },
    ],
    [
      "names another host",
      "421 misdirected",
      { headers: { ...JSON_TYPE, host: "rebound.example" }, body: "{}" },
    ],
    ["names another port", "421 misdirected", { headers: { ...JSON_TYPE, host: "127.0.0.1:1" }, body: "{}" }],
    [
      "comes from a web page",
      "421 misdirected",
      { headers: { ...JSON_TYPE, origin: "http://127.0.0.1" }, body: "{}" },
    ],
    [
      "comes from a page with an opaque origin",
      "421 misdirected",
      { method: "GET", path: "/v1/tools", headers: { origin: "null" } },
    ],
  ])("a request that %s is refused with its own status", async (_, problem, sending) => {
    const executor = await startExecutor([], { limits: { bodyBytes: 1_000 } });
    expect(problemOf(await send(executor, sending))).toBe(problem);
  });

  test("the connection is closed after a request that is refused as much too large", async () => {
    const executor = await startExecutor([], { limits: { bodyBytes: 1_000 } });
    const headers = { ...JSON_TYPE, "content-length": "100000000" };
    const socket = connect(Number(executor.address.split(":")[1]), "127.0.0.1");
    socket.write(
      `POST /v1/dispatch HTTP/1.1\r\nhost: ${executor.address}\r\ncontent-type: application/json\r\ncontent-length: ${headers["content-length"]}\r\n\r\n`,
    );
    let text = "";
    for await (const chunk of socket) text += chunk;
    expect(text).toMatch(/^HTTP\/1\.1 413 /);
    expect(text.toLowerCase()).toContain("connection: close");
  });

  test("a request without a length is refused with its own status", async () => {
    const executor = await startExecutor([]);
    const socket = connect(Number(executor.address.split(":")[1]), "127.0.0.1");
    socket.write(
      `POST /v1/dispatch HTTP/1.1\r\nhost: ${executor.address}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`,
    );
    const text = await new Promise<string>((resolve) =>
      socket.once("data", (chunk) => resolve(String(chunk))),
    );
    expect(text).toMatch(/^HTTP\/1\.1 411 /);
    socket.destroy();
  });

  test("a request that arrives too slowly is refused by the HTTP server", async () => {
    const executor = await startExecutor([], { limits: { requestMs: 100 } });
    const socket = connect(Number(executor.address.split(":")[1]), "127.0.0.1");
    socket.write(
      `POST /v1/dispatch HTTP/1.1\r\nhost: ${executor.address}\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n{`,
    );
    let text = "";
    for await (const chunk of socket) text += chunk;
    expect(text).toMatch(/^HTTP\/1\.1 408 /);
  });
});

test("the total size of the bodies that are held is bounded", async () => {
  const executor = await startExecutor([], { limits: { bodyBytes: 100, requestMs: 5_000 } });
  const port = Number(executor.address.split(":")[1]);
  const sockets = Array.from({ length: 65 }, () => connect(port, "127.0.0.1"));
  const answered = Promise.race(
    sockets.map(
      (socket) => new Promise<string>((resolve) => socket.on("data", (data) => resolve(String(data)))),
    ),
  );
  for (const socket of sockets) {
    socket.write(
      `POST /v1/dispatch HTTP/1.1\r\nhost: ${executor.address}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{`,
    );
  }
  expect(await answered).toMatch(/^HTTP\/1\.1 429 /);
  for (const socket of sockets) socket.destroy();
});

test("a client that reads too slowly misses chunks, but not the execution", async () => {
  const CHUNKS = 200;
  const talk = defineTool({
    name: "talk",
    description: "Says a lot.",
    inputSchema: { type: "object" },
    host: (_, context) => {
      for (let count = 0; count < CHUNKS; count++) context.onOutput("x".repeat(100_000));
      return "done";
    },
  });
  const executor = await startExecutor([talk]);
  const headers = { accept: "text/event-stream" };
  const { text } = await dispatch(executor, dispatchBody({ name: "talk" }), { headers });
  const events = new StreamReader(1_000_000).push(text);
  expect(events.length).toBeLessThan(CHUNKS / 2);
  expect(events.at(-1)?.event).toBe("execution");
});

describe("clients that disconnect", () => {
  test("a client that disconnects cancels its call", async () => {
    const held = new HeldTool();
    const executor = await startExecutor([held.tool]);
    const gone = new AbortController();
    const answer = dispatch(executor, dispatchBody({ name: "hold" }), { signal: gone.signal });
    answer.catch(() => {});
    await until(() => held.started.length === 1);
    gone.abort();
    await until(() => held.cancelled.length === 1);
    expect(held.cancelled).toEqual(["call"]);
  });

  test("a client that disconnects does not cancel a call that others wait for", async () => {
    const held = new HeldTool();
    const executor = await startExecutor([held.tool]);
    const gone = new AbortController();
    const first = dispatch(executor, dispatchBody({ name: "hold" }), { signal: gone.signal });
    first.catch(() => {});
    await until(() => held.started.length === 1);
    const second = dispatch(executor, dispatchBody({ name: "hold" }));
    const metrics = async (): Promise<string> =>
      (await send(executor, { method: "GET", path: "/metrics" })).text;
    while (!(await metrics()).includes("sandgate_replays_total 1"));
    gone.abort();
    await expect(first).rejects.toThrow();
    held.release();
    expect(executionOf(await second).success).toBe(true);
    expect(held.cancelled).toEqual([]);
  });

  test("a client that disconnects removes its queued call, and can send it again", async () => {
    const held = new HeldTool();
    const executor = await startExecutor([held.tool], { limits: { inFlight: 1 } });
    const running = dispatch(executor, dispatchBody({ id: "a", name: "hold" }));
    await until(() => held.started.length === 1);
    const gone = new AbortController();
    const waiting = dispatch(executor, dispatchBody({ id: "b", name: "hold" }), { signal: gone.signal });
    waiting.catch(() => {});
    const metrics = async (): Promise<string> =>
      (await send(executor, { method: "GET", path: "/metrics" })).text;
    while (!(await metrics()).includes("sandgate_calls_queued 1"));
    gone.abort();
    while (!(await metrics()).includes("sandgate_calls_queued 0"));
    held.release();
    await running;
    expect(held.started).toEqual(["a"]);
    const again = dispatch(executor, dispatchBody({ id: "b", name: "hold" }));
    await until(() => held.started.length === 2);
    held.release();
    expect(executionOf(await again).success).toBe(true);
  });

  test("a client that disconnects before its request is complete leaves no state behind", async () => {
    const counting = new CountingTool();
    // With this limit, 64 bodies can be held at once.
    const executor = await startExecutor([counting.tool], { limits: { bodyBytes: 1_000 } });
    const head = `POST /v1/dispatch HTTP/1.1\r\nhost: ${executor.address}\r\ncontent-type: application/json\r\n`;
    for (let count = 0; count < 70; count++) {
      const socket = connect(Number(executor.address.split(":")[1]), "127.0.0.1");
      socket.write(`${head}expect: 100-continue\r\ncontent-length: 1000\r\n\r\n{"call":`);
      // The executor has received the headers when it responds with 100 Continue.
      await once(socket, "data");
      socket.destroy();
      await once(socket, "close");
    }
    const isTaken = async (): Promise<boolean> =>
      (await dispatch(executor, dispatchBody({ name: "count" }))).status === 200;
    while (!(await isTaken()));
    expect(counting.calls).toBe(1);
  });
});

test("a body can arrive in pieces, and requests can be pipelined", async () => {
  const counting = new CountingTool();
  const executor = await startExecutor([counting.tool]);
  const socket = connect(Number(executor.address.split(":")[1]), "127.0.0.1");
  socket.setNoDelay();
  let answers = "";
  socket.on("data", (chunk) => {
    answers += chunk;
  });
  const request = (id: string): string => {
    const body = dispatchBody({ id, name: "count", arguments: { id } });
    return `POST /v1/dispatch HTTP/1.1\r\nhost: ${executor.address}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  };
  const sent = request("one");
  for (let at = 0; at < sent.length; at += 50) {
    socket.write(sent.slice(at, at + 50));
    await new Promise((resolve) => setImmediate(resolve));
  }
  await until(() => answers.includes('"output":{"id":"one"}'));
  socket.write(request("two") + request("three"));
  await until(() => answers.includes('"output":{"id":"three"}'));
  socket.destroy();
  expect(answers.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(3);
  expect(counting.calls).toBe(3);
});
