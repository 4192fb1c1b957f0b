import type { Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, describe, expect, test } from "vitest";
import type { ToolExecution } from "../../../../src/engine/call/execution.ts";
import { writeStreamEvent } from "../../../../src/remote-protocol/event-stream.ts";
import { openSandboxes, type Sandboxes } from "../../../../src/sandboxes/open-sandboxes.ts";
import { recordEvents } from "../../../engine/helpers.ts";
import { callOn, execution, RawPeer, type RemoteCall, response, type SeenRequest } from "./setting.ts";

const sandboxes = await openSandboxes();
/** Calls may hardly wait at executors here, even if these say that they do. */
const impatient = await openSandboxes({ workers: { maxWaitMs: 300 } });
const peer = new RawPeer();
const url = await peer.start();
afterAll(async () => {
  await Promise.all([sandboxes.close(), impatient.close()]);
  await peer.stop();
});

/** Makes one call with this response. For the client, each call has another executor. */
let count = 0;
async function call(
  answer: (socket: Socket, request: SeenRequest) => void,
  options: RemoteCall = {},
  client: Sandboxes = sandboxes,
): Promise<ToolExecution> {
  peer.answer(answer);
  const limits = { wallTimeMs: 1_000, ...options.limits };
  const ownUrl = `${url}/${++count}`;
  return callOn(ownUrl, "tool", client, { input: { n: 1 }, ...options, limits });
}

const held = { receipt: { enforced: { wallTimeMs: 1, outputBytes: 1 }, used: { wallTimeMs: 1 } } };

describe("an executor's response", () => {
  test("an executor's response is accepted if it is about the call and within its limits", async () => {
    const { success, output } = await call((socket, request) => {
      socket.write(response(200, execution(request)));
    });
    expect({ success, output }).toEqual({ success: true, output: "done" });
  });

  test.each<[string, (request: SeenRequest) => string]>([
    ["another call's id", (request) => execution(request, { callId: "other" })],
    ["another tool", (request) => execution(request, { toolName: "other" })],
    ["other arguments", (request) => execution(request, { arguments: { n: 2 } })],
    ["no arguments", (request) => execution(request, { arguments: null })],
    [
      "no limit that held",
      (request) => execution(request, { receipt: { enforced: {}, used: { wallTimeMs: 1 } } }),
    ],
    [
      "a looser limit than was asked for",
      (request) =>
        execution(request, { receipt: { ...held.receipt, enforced: { wallTimeMs: 5_000, outputBytes: 1 } } }),
    ],
    ["an unknown member", (request) => execution(request, { surprise: 1 })],
    ["a failure without an error", (request) => execution(request, { success: false })],
    ["an unknown sandbox", (request) => execution(request, { sandbox: "moon" })],
    ["a member named __proto__", (request) => execution(request).replace('"done"', '{"__proto__":{"a":1}}')],
    [
      "a tree without end",
      (request) => execution(request).replace('"done"', "[".repeat(5e4) + "]".repeat(5e4)),
    ],
    ["half of a JSON text", () => '{"callId":'],
    ["an HTML page", () => "<html>login</html>"],
    ["null", () => "null"],
    ["nothing", () => ""],
  ])("an executor's response with %s is refused", async (_case, body) => {
    const { success, output, error } = await call((socket, request) => {
      socket.write(response(200, body(request)));
    });
    expect({ success, output }).toEqual({ success: false, output: null });
    expect(error).toMatchObject({ code: "execution_error", effect: "unknown" });
    expect(error?.message).toMatch(
      /^The tool's executor (?:sent an invalid|responded for another|did not enforce)/,
    );
    expect(peer.seen).toHaveLength(1);
  });

  test("an executor's response is refused if its output exceeds the budget", async () => {
    const enforced = { wallTimeMs: 1, outputBytes: 1_000 };
    const change = { output: "x".repeat(2_000), receipt: { ...held.receipt, enforced } };
    const { error } = await call(
      (socket, request) => socket.write(response(200, execution(request, change))),
      { limits: { outputBytes: 1_000 } },
    );
    expect(error).toMatchObject({ code: "limit_exceeded", message: "Tool exceeded 1000 B output limit" });
  });

  test("an executor's response with a number that no double can hold is refused", async () => {
    const { output, error } = await call((socket, request) => {
      socket.write(response(200, execution(request).replace('"done"', "[1e999,1]")));
    });
    expect(output).toBeNull();
    expect(error).toMatchObject({
      message: "The tool's executor sent an invalid response",
      effect: "unknown",
    });
  });

  test("an endless response of an executor is cut off", async () => {
    const { error } = await call(
      (socket) => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n"');
        const more = (): void => {
          while (!socket.destroyed && socket.write("x".repeat(65_536)));
          if (!socket.destroyed) socket.once("drain", more);
        };
        more();
      },
      { limits: { outputBytes: 1_000 } },
    );
    expect(error).toMatchObject({ code: "limit_exceeded", effect: "unknown" });
  });

  test("unknown and invalid figures in an executor's response are dropped", async () => {
    const used = { wallTimeMs: 1, memoryBytes: -5, logLines: "many", nestedCalls: 2, bytesUp: 1e9 };
    const { receipt } = await call((socket, request) => {
      socket.write(response(200, execution(request, { receipt: { ...held.receipt, used } })));
    });
    expect(receipt.used).toMatchObject({ nestedCalls: 2, attempts: 1 });
    expect(receipt.used.memoryBytes).toBeUndefined();
    expect(receipt.used.bytesUp).toBeLessThan(1e6);
  });

  test("a timeout without a limit is reported with the limit of the grant", async () => {
    const error = { code: "timeout", message: "late", effect: "none" };
    const change = { success: false, output: null, error, receipt: { ...held.receipt, enforced: {} } };
    const { error: read, receipt } = await call((socket, request) => {
      socket.write(response(200, execution(request, change)));
    });
    expect(read?.message).toBe("Tool exceeded 1s wall time limit");
    expect(receipt.enforced.wallTimeMs).toBe(1_000);
  });

  test("an executor may report that the call may still run", async () => {
    const error = { code: "timeout", message: "late", effect: "unknown" };
    const change = {
      success: false,
      output: null,
      error,
      receipt: { ...held.receipt, mayStillRun: true, ended: "requested" },
    };
    const { error: read, receipt } = await call((socket, request) => {
      socket.write(response(200, execution(request, change)));
    });
    expect(read?.code).toBe("timeout");
    expect(receipt).toMatchObject({ mayStillRun: true, ended: "requested" });
  });

  test("an unknown error code is a failure with the executor's message", async () => {
    const error = { code: "moon_eclipsed", message: "too dark", effect: "committed" };
    const { error: read } = await call((socket, request) => {
      socket.write(response(200, execution(request, { success: false, output: null, error })));
    });
    expect(read).toEqual({
      code: "execution_error",
      message: "too dark",
      effect: "committed",
      userVisible: false,
    });
  });
});

describe("a connection to an executor", () => {
  test("a refused connection to an executor means that nothing ran", async () => {
    const { error, receipt } = await callOn("http://127.0.0.1:1", "tool", sandboxes, {
      limits: { wallTimeMs: 300 },
    });
    expect(error).toMatchObject({
      code: "sandbox_unavailable",
      message: "Cannot reach the tool's executor: connection refused",
      effect: "none",
    });
    expect(receipt.enforced).toEqual({});
    expect(receipt.used.contacted).toEqual([]);
  });

  test("an executor's name that cannot be resolved is reported", async () => {
    const { error } = await callOn("http://no-such-host.invalid", "tool", sandboxes, {
      limits: { wallTimeMs: 30_000 },
    });
    expect(error?.message).toBe("Cannot reach the tool's executor: its name cannot be resolved");
    expect(error?.effect).toBe("none");
  });

  test.each<[string, (socket: Socket) => void]>([
    ["is reset", (socket) => socket.resetAndDestroy()],
    ["ends", (socket) => socket.end()],
    ["ends after the headers", (socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n")],
    [
      "is reset within the body",
      (socket) => {
        socket.write("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{", () => socket.resetAndDestroy());
      },
    ],
  ])("a connection that %s after the request leaves the effect unknown, and the call is not retried", async (_case, answer) => {
    const { error } = await call((socket) => answer(socket));
    expect(error).toMatchObject({
      code: "execution_error",
      message: "The connection to the tool's executor was lost before it responded",
      effect: "unknown",
    });
    expect(peer.seen).toHaveLength(1);
  });

  test.each<[string, string | Buffer]>([
    ["garbage", Buffer.from(Array.from({ length: 500 }, (_, index) => (index * 7) % 256))],
    ["a chunk with an invalid length", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\nxx\r\n"],
    ["two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 5\r\n\r\n{}"],
    [
      "a compressed body",
      Buffer.concat([
        Buffer.from("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 22\r\n\r\n"),
        gzipSync("{}"),
      ]),
    ],
    ["endless headers", `HTTP/1.1 200 OK\r\n${`x: ${"a".repeat(1_000)}\r\n`.repeat(100)}`],
  ])("a connection that carries %s carries no valid response", async (_case, bytes) => {
    const { error } = await call((socket) => socket.end(bytes));
    expect(error).toMatchObject({ code: "execution_error", effect: "unknown" });
    expect(error?.message).toMatch(
      /^The tool's executor sent (?:an invalid response|headers that are too large)$/,
    );
    expect(peer.seen).toHaveLength(1);
  });

  test.each<[string, (socket: Socket) => void]>([
    ["never responds", () => {}],
    [
      "drips its headers",
      (socket) => {
        const drip = setInterval(() => socket.write("H"), 20);
        socket.on("close", () => clearInterval(drip));
        socket.write("HTTP/1.1 200 OK\r\nx: ");
      },
    ],
    [
      "drips its body",
      (socket) => {
        socket.write("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n");
        const drip = setInterval(() => socket.write(" "), 20);
        socket.on("close", () => clearInterval(drip));
      },
    ],
  ])("a connection to an executor that %s is closed after the deadline", async (_case, answer) => {
    const closed = Promise.withResolvers<void>();
    const { error } = await call(
      (socket) => {
        socket.on("close", () => closed.resolve());
        answer(socket);
      },
      { limits: { wallTimeMs: 100 } },
    );
    expect(error).toMatchObject({
      code: "timeout",
      message: "Tool exceeded 100ms wall time limit",
      effect: "unknown",
    });
    await closed.promise;
    expect(peer.seen).toHaveLength(1);
  });
});

describe("an executor that says that a call waits for its turn", () => {
  const PROCESSING = "HTTP/1.1 102 Processing\r\n\r\n";
  const limits = { wallTimeMs: 200 };

  test.each<[string, string]>([
    ["", PROCESSING],
    [" several times", PROCESSING.repeat(10)],
    [" with fields of its own", PROCESSING.replace("\r\n\r\n", "\r\nx: y\r\ncontent-length: 5\r\n\r\n")],
  ])("and does so%s is given time", async (_case, interim) => {
    const { success } = await call(
      (socket, request) => {
        socket.write(interim);
        setTimeout(() => socket.write(response(200, execution(request))), 600);
      },
      { limits },
    );
    expect(success).toBe(true);
  });

  test.each<[string, (socket: Socket) => void]>([
    ["then nothing", (socket) => socket.write(PROCESSING)],
    [
      "the same now and then",
      (socket) => {
        const repeat = setInterval(() => socket.write(PROCESSING), 100);
        socket.on("close", () => clearInterval(repeat));
      },
    ],
    [
      "the same as events of a stream",
      (socket) => {
        const head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
        socket.write(head);
        const repeat = setInterval(() => socket.write(writeStreamEvent("waiting", "{}").repeat(1_000)), 10);
        socket.on("close", () => clearInterval(repeat));
      },
    ],
  ])("and %s is given up when the call has waited as long as it may", async (_case, answer) => {
    const closed = Promise.withResolvers<void>();
    const { error } = await call(
      (socket) => {
        socket.on("close", () => closed.resolve());
        answer(socket);
      },
      { limits, context: { events: recordEvents().events } },
      impatient,
    );
    expect(error).toMatchObject({ code: "timeout", effect: "unknown" });
    await closed.promise;
    expect(peer.seen).toHaveLength(1);
  });

  test.each<[string, string, RegExp]>([
    ["very often", PROCESSING.repeat(100_000), /sent an invalid response$/],
    [
      "with huge fields",
      PROCESSING.replace("\r\n\r\n", `\r\n${`x: ${"a".repeat(1_000)}\r\n`.repeat(100)}\r\n`),
      /sent headers that are too large$/,
    ],
    [
      "with a status that asks for the body",
      PROCESSING.replace("102", "100"),
      /was lost before it responded$/,
    ],
  ])("and does so %s sends no valid response", async (_case, interim, message) => {
    const { error } = await call((socket) => socket.write(interim));
    expect(error).toMatchObject({ code: "execution_error", effect: "unknown" });
    expect(error?.message).toMatch(message);
    expect(peer.seen).toHaveLength(1);
  });
});

describe("a response without an execution", () => {
  const problem = (code: string, effect: string): string =>
    JSON.stringify({ error: { code, message: "in its own words", effect } });

  test.each([
    [302, "The tool's executor responded with HTTP 302: redirects are not followed"],
    [204, "The tool's executor responded with HTTP 204 without a result"],
    [404, "The tool's executor responded with HTTP 404 without a result"],
    [502, "The tool's executor responded with HTTP 502 without a result"],
    [503, "The tool's executor responded with HTTP 503 without a result"],
    [429, "The tool's executor responded with HTTP 429 without a result"],
  ])("a proxy's response with HTTP %s is not retried, since the call may have run", async (status, message) => {
    const { error } = await call((socket) => {
      const body = status === 204 ? "" : "<html>sorry</html>";
      socket.write(response(status, body, { location: "http://169.254.169.254/", "retry-after": "0" }));
    });
    expect(error).toMatchObject({ code: "execution_error", message, effect: "unknown" });
    expect(peer.seen).toHaveLength(1);
  });

  test.each([
    ["text/html; charset=utf-8", "<html>no server is available</html>"],
    ["text/plain", "no healthy upstream"],
    ["application/json", '{"message":"Service Unavailable","effect":"none"}'],
    ["application/json", '{"error":{"code":"unavailable","message":"no upstream"}}'],
  ])("what a proxy sends with HTTP 503 as %s says nothing of the call, which may have run before: %s", async (type, body) => {
    const { error } = await call((socket) => {
      socket.write(response(503, body, { "content-type": type, "retry-after": "0" }));
    });
    expect(error).toMatchObject({ code: "execution_error", effect: "unknown" });
    expect(peer.seen).toHaveLength(1);
  });

  test.each([
    [429, "overloaded", "The tool's executor is overloaded: try again later"],
    [503, "draining", "The tool's executor is shutting down: try again later"],
  ])("the problem HTTP %s '%s' is retried as long as there is time", async (status, code, message) => {
    let answers = 0;
    const refuse = (socket: Socket): boolean => socket.write(response(status, problem(code, "none")));
    const { success, receipt } = await call((socket, request) => {
      if (++answers < 3) refuse(socket);
      else socket.write(response(200, execution(request)));
    });
    expect(success).toBe(true);
    expect(receipt.used).toMatchObject({ attempts: 3 });
    expect(new Set(peer.seen.map((request) => request.call.id)).size).toBe(1);
    const { error } = await call(refuse, { limits: { wallTimeMs: 200 } });
    expect(error).toMatchObject({ code: "sandbox_unavailable", message, effect: "none" });
  });

  test("an executor that is overloaded beyond the deadline is reported at once", async () => {
    const { error, receipt } = await call((socket) => {
      socket.write(response(429, problem("overloaded", "none"), { "retry-after": "999999999" }));
    });
    expect(error?.code).toBe("sandbox_unavailable");
    expect(receipt.used.attempts).toBe(1);
  });

  test.each([
    [400, "bad_request", "none", "sandbox_unavailable"],
    [401, "unauthenticated", "none", "sandbox_unavailable"],
    [409, "call_id_conflict", "none", "sandbox_unavailable"],
    [504, "deadline_passed", "none", "sandbox_unavailable"],
    [410, "result_forgotten", "unknown", "execution_error"],
    [500, "internal_error", "unknown", "execution_error"],
  ])("the problem HTTP %s '%s' is not retried, and its effect is %s", async (status, code, effect, ends) => {
    const { error } = await call((socket) => socket.write(response(status, problem(code, effect))));
    expect(error).toMatchObject({ code: ends, effect });
    expect(peer.seen).toHaveLength(1);
  });

  test("a problem with another status than its own is refused", async () => {
    const { error } = await call((socket) => socket.write(response(500, problem("overloaded", "none"))));
    expect(error).toMatchObject({ code: "execution_error", effect: "unknown" });
    expect(peer.seen).toHaveLength(1);
  });
});

describe("an executor's stream", () => {
  const HEAD = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
  const chunk = (text: string): string => writeStreamEvent("output", JSON.stringify({ chunk: text }));

  async function stream(
    body: (request: SeenRequest) => string | Buffer,
    options: RemoteCall = {},
  ): Promise<{ readonly result: ToolExecution; readonly chunks: readonly string[] }> {
    const { events, seen } = recordEvents();
    const result = await call(
      (socket, request) => {
        socket.write(HEAD);
        socket.end(body(request));
      },
      { ...options, context: { events } },
    );
    const chunks = seen.flatMap((event) => (event.type === "tool.output" ? [event.chunk] : []));
    return { result, chunks };
  }

  test("an executor's stream may contain events of later versions", async () => {
    const { result, chunks } = await stream(
      (request) =>
        `: hello\n\n${chunk("a")}event: progress\ndata: 1\n\n${writeStreamEvent("execution", execution(request))}`,
    );
    expect(result).toMatchObject({ success: true, output: "done" });
    expect(chunks).toEqual(["a"]);
    expect(result.receipt.used.outputBytes).toBe(1 + '"done"'.length);
  });

  test.each<[string, (request: SeenRequest) => string | Buffer]>([
    ["without an execution", () => chunk("a")],
    ["with two executions", (request) => writeStreamEvent("execution", execution(request)).repeat(2)],
    ["with an invalid chunk", () => writeStreamEvent("output", "1")],
    ["with a log line of an unknown level", () => writeStreamEvent("log", '{"level":"moon","message":"x"}')],
    ["that is not UTF-8", () => Buffer.from([0x64, 0x61, 0x74, 0x61, 0x3a, 0xff, 0xfe, 0x0a, 0x0a])],
    ["with an endless event", () => `data: ${"x".repeat(3_000_000)}`],
  ])("an executor's stream %s carries no valid response", async (_case, body) => {
    const { result } = await stream(body);
    expect(result.error).toMatchObject({
      code: "execution_error",
      message: "The tool's executor sent an invalid response",
      effect: "unknown",
    });
  });

  test("an executor's stream is cut off if it exceeds the output budget", async () => {
    const { result, chunks } = await stream(() => chunk("x".repeat(100)).repeat(50), {
      limits: { outputBytes: 1_000 },
    });
    expect(result.error).toMatchObject({ code: "limit_exceeded", effect: "unknown" });
    expect(chunks.length).toBeLessThanOrEqual(10);
  });

  test("an executor's stream ends with a problem if the call never ran", async () => {
    const { result } = await stream(() =>
      writeStreamEvent(
        "problem",
        JSON.stringify({ error: { code: "bad_request", message: "no", effect: "none" } }),
      ),
    );
    expect(result.error).toMatchObject({ code: "sandbox_unavailable", effect: "none" });
  });

  test("an executor's stream passes on at most the log lines of the grant", async () => {
    const { events, seen } = recordEvents();
    const line = writeStreamEvent("log", '{"level":"info","message":"x"}');
    await call(
      (socket, request) =>
        socket.end(HEAD + line.repeat(20) + writeStreamEvent("execution", execution(request))),
      { limits: { logLines: 3 }, context: { events } },
    );
    expect(seen.filter(({ type }) => type === "tool.log")).toHaveLength(3);
  });
});
