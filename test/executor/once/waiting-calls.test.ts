import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import { defineTool, type Tool } from "../../../src/engine/tool.ts";
import type { Executor } from "../../../src/executor/executor.ts";
import type { ExecutorOptions } from "../../../src/executor/options.ts";
import { allow, ask } from "../../../src/policy/policy.ts";
import { openSandboxes, type Sandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { recordEvents } from "../../engine/helpers.ts";
import { callOn } from "../../sandboxes/remote/executor-client/setting.ts";
import { CountingTool, dispatch, dispatchBody, HeldTool, startExecutor, until } from "../harness.ts";

const WALL_TIME_MS = 250;
/** Longer than the client waits for a call that nothing is known of. */
const LONG_MS = 700;

/** The same for a call that has a new thread start within its wall time, and a module load: on a busy machine, too. */
const THREAD_WALL_TIME_MS = 800;
const THREAD_BUSY_MS = 2_000;

const warmUp = defineTool({
  name: "warm-up",
  description: "",
  inputSchema: { type: "object" },
  host: () => null,
});

function module(name: string): Tool {
  const file = new URL("../../fixtures/worker/contract.ts", import.meta.url);
  return defineTool({
    name,
    description: "",
    inputSchema: { type: "object" },
    host: { module: file, export: name },
  });
}

/** Starts an executor, and a client that calls over frames or over HTTP. */
async function start(
  tools: readonly Tool[],
  frames: boolean,
  options: Partial<ExecutorOptions> = {},
  wallTimeMs: number = WALL_TIME_MS,
): Promise<{ readonly executor: Executor; call(name: string, stream?: boolean): Promise<ToolExecution> }> {
  const executor = await startExecutor([warmUp, ...tools], options);
  const client: Sandboxes = await openSandboxes({ remote: { frames } });
  onTestFinished(() => client.close());
  const url = `http://${executor.address}`;
  await callOn(url, "warm-up", client);
  // A framed connection is opened meanwhile.
  await delay(100);
  return {
    executor,
    call: (name, stream = false) =>
      callOn(url, name, client, {
        limits: { wallTimeMs },
        context: stream ? { events: recordEvents().events } : {},
      }),
  };
}

/** Has an executor run a call whose response does not matter. */
function occupy(executor: Executor, body: string): void {
  dispatch(executor, body).catch(() => {});
}

describe.each([
  ["HTTP", false, false],
  ["a stream over HTTP", false, true],
  ["frames", true, false],
])("over %s, a call waits longer than its wall time", (_way, frames, stream) => {
  test("for its turn at the executor", async () => {
    const held = new HeldTool();
    const { executor, call } = await start([held.tool, new CountingTool().tool], frames, {
      limits: { inFlight: 1 },
    });
    occupy(executor, dispatchBody({ name: "hold" }));
    await until(() => held.started.length === 1);
    const waiting = call("count", stream);
    await delay(LONG_MS);
    held.release();
    const { success, receipt } = await waiting;
    expect(success).toBe(true);
    expect(receipt.used.waitedMs).toBeGreaterThan(WALL_TIME_MS);
  });

  test("for a thread", async () => {
    const threads = await openSandboxes({ workers: { threads: 1 } });
    onTestFinished(() => threads.close());
    const { executor, call } = await start(
      [module("loop"), module("echo")],
      frames,
      { sandboxes: threads },
      THREAD_WALL_TIME_MS,
    );
    await expect.poll(async () => (await call("echo")).success, { timeout: 30_000 }).toBe(true);
    occupy(executor, dispatchBody({ name: "loop" }, { limits: { wallTimeMs: THREAD_BUSY_MS } }));
    await delay(100);
    const { success, receipt } = await call("echo", stream);
    expect(success).toBe(true);
    expect(receipt.used.waitedMs).toBeGreaterThan(THREAD_WALL_TIME_MS);
  });

  test("for a person who confirms it", async () => {
    const { call } = await start([new CountingTool().tool], frames, {
      policy: { check: () => ask("Run it?", { grant: { sandbox: "host" } }) },
      confirm: async ({ tool }) => {
        if (tool.name === "count") await delay(LONG_MS);
        return { decision: "allow", by: "ann" };
      },
    });
    expect((await call("count", stream)).success).toBe(true);
  });

  test("for a person whom its tool asks, after it has streamed something", async () => {
    const tool = defineTool({
      name: "question",
      description: "",
      inputSchema: { type: "object" },
      host: (_, context) => {
        context.onOutput("begun");
        return context.ask({ question: "Which?" });
      },
    });
    const { call } = await start([tool], frames, {
      ask: async () => {
        await delay(LONG_MS);
        return { decision: "answer", answer: "this one", by: "bob" };
      },
    });
    expect((await call("question", stream)).output).toBe("this one");
  });

  test("for its turn at an executor that this one calls", async () => {
    const held = new HeldTool();
    const last = await startExecutor([held.tool, new CountingTool().tool], { limits: { inFlight: 1 } });
    const between = await openSandboxes();
    onTestFinished(() => between.close());
    const passedOn = defineTool({
      name: "count",
      description: "",
      inputSchema: { type: "object" },
      remote: { executor: `http://${last.address}` },
    });
    const { call } = await start([passedOn], frames, {
      sandboxes: between,
      policy: { check: ({ tool }) => allow({ sandbox: tool.name === "count" ? "remote" : "host" }) },
    });
    occupy(last, dispatchBody({ name: "hold" }));
    await until(() => held.started.length === 1);
    const waiting = call("count", stream);
    await delay(LONG_MS);
    held.release();
    expect((await waiting).success).toBe(true);
  });
});

/** Sends a dispatch request, and returns the statuses of all responses to it, interim ones too. */
async function statusesOf(executor: Executor, body: string, version = "1.1"): Promise<readonly string[]> {
  const { hostname, port } = new URL(`http://${executor.address}`);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  const headers = ["content-type: application/json", `content-length: ${Buffer.byteLength(body)}`];
  const head = [
    `POST /v1/dispatch HTTP/${version}`,
    `host: ${executor.address}`,
    "connection: close",
    ...headers,
  ];
  socket.write([...head, "", body].join("\r\n"));
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  await once(socket, "end");
  return Array.from(
    Buffer.concat(chunks)
      .toString()
      .matchAll(/HTTP\/1\.1 (\d+)/g),
    ([, status = ""]) => status,
  );
}

describe("an interim response", () => {
  const limits = { wallTimeMs: WALL_TIME_MS };

  test("is sent once, to each request that waits for the call, and only if it waits", async () => {
    const held = new HeldTool();
    const executor = await startExecutor([held.tool], { limits: { inFlight: 1 } });
    const first = statusesOf(
      executor,
      dispatchBody({ id: "first", name: "hold" }, { limits: { wallTimeMs: 10_000 } }),
    );
    await until(() => held.started.length === 1);
    const second = dispatchBody({ id: "second", name: "hold" }, { limits });
    const waiting = [statusesOf(executor, second), statusesOf(executor, second)];
    await delay(LONG_MS);
    const late = statusesOf(executor, second);
    held.release();
    await until(() => held.started.length === 2);
    await delay(50);
    held.release();
    expect(await first).toEqual(["200"]);
    expect(await Promise.all([...waiting, late])).toEqual(Array(3).fill(["102", "200"]));
  });

  test("is not sent about a call that runs, however long", async () => {
    const held = new HeldTool();
    const executor = await startExecutor([held.tool]);
    const answer = statusesOf(executor, dispatchBody({ name: "hold" }, { limits: { wallTimeMs: LONG_MS } }));
    await delay(LONG_MS * 0.8);
    held.release();
    expect(await answer).toEqual(["200"]);
  });

  test("is not sent to a client of HTTP/1.0", async () => {
    const held = new HeldTool();
    const executor = await startExecutor([held.tool], { limits: { inFlight: 1 } });
    occupy(executor, dispatchBody({ id: "first", name: "hold" }));
    await until(() => held.started.length === 1);
    const answer = statusesOf(executor, dispatchBody({ name: "hold" }, { limits }), "1.0");
    await delay(LONG_MS);
    held.release();
    await until(() => held.started.length === 2);
    held.release();
    expect(await answer).toEqual(["200"]);
  });
});
