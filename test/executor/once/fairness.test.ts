import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { ToolDispatchEngine } from "../../../src/engine/engine.ts";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import { defineTool } from "../../../src/engine/tool.ts";
import type { Executor } from "../../../src/executor/executor.ts";
import { RulePolicy } from "../../../src/policy/rule/rule-policy.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import {
  CountingTool,
  dispatchBody,
  executionOf,
  HeldTool,
  KeyedClient,
  problemOf,
  send,
  startExecutor,
  until,
} from "../harness.ts";

const greedy = new KeyedClient("greedy");
const modest = new KeyedClient("modest");
const KEYS = new Map([greedy, modest].map(({ keyId, publicKey }) => [keyId, publicKey]));

/** Sends the head of a signed request, and the first byte of its body. */
function begin(executor: Executor, client: KeyedClient, bytes: number): Socket {
  const body = "x".repeat(bytes);
  const headers = { host: executor.address, "content-length": bytes, ...client.sign(executor, body) };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const socket = connect(Number(executor.address.split(":")[1]), "127.0.0.1");
  socket.on("error", () => {});
  socket.write(`POST /v1/dispatch HTTP/1.1\r\n${lines.join("")}\r\nx`);
  onTestFinished(() => void socket.destroy());
  return socket;
}

/** Reads the executor's metrics. */
async function metrics(executor: Executor, token: string): Promise<string> {
  const headers = { authorization: `Bearer ${token}` };
  return (await send(executor, { method: "GET", path: "/metrics", headers })).text;
}

describe("one caller does not shut out the others", () => {
  test("with calls of many sessions that fill the places and the queue", async () => {
    const held = new HeldTool();
    const token = "correct-horse-battery-staple";
    const limits = { inFlight: 4, queued: 8 };
    const executor = await startExecutor([held.tool, new CountingTool().tool], { keys: KEYS, token, limits });
    const answers = Array.from({ length: 12 }, (_, index) =>
      greedy.dispatch(executor, dispatchBody({ name: "hold" }, { session: `session ${index}` })),
    );
    while (!(await metrics(executor, token)).includes("calls_queued 8\n"));
    const answer = modest.dispatch(executor, dispatchBody({ name: "count" }));
    expect(problemOf(await Promise.race(answers))).toBe("429 overloaded");
    held.release();
    expect(executionOf(await answer).success).toBe(true);
    const all = Promise.all(answers);
    const draining = setInterval(() => held.releaseAll(), 2);
    expect((await all).filter(({ status }) => status === 200)).toHaveLength(11);
    clearInterval(draining);
  });

  test("with calls that it does not end: a call that waits too long never began", async () => {
    const held = new HeldTool();
    const counting = new CountingTool();
    const limits = { inFlight: 1, maxWaitMs: 200 };
    const executor = await startExecutor([held.tool, counting.tool], { keys: KEYS, limits });
    const running = greedy.dispatch(executor, dispatchBody({ name: "hold" }));
    await until(() => held.started.length === 1);
    const waiting = await modest.dispatch(executor, dispatchBody({ name: "count" }));
    expect(problemOf(waiting)).toBe("504 deadline_passed");
    expect(waiting.text).toContain('"effect":"none"');
    expect(waiting.text).toContain("never began");
    held.release();
    expect(executionOf(await running).success).toBe(true);
    expect(counting.calls).toBe(0);
    // Its id can be used again.
    expect(executionOf(await modest.dispatch(executor, dispatchBody({ name: "count" }))).success).toBe(true);
  });

  test("with calls that take longer than the wall time of a call which waits for them", async () => {
    const held = new HeldTool();
    const counting = new CountingTool();
    const limits = { inFlight: 1 };
    const executor = await startExecutor([held.tool, counting.tool], { keys: KEYS, limits });
    const running = greedy.dispatch(executor, dispatchBody({ name: "hold" }));
    await until(() => held.started.length === 1);
    const { privateKey: signingKey, keyId } = modest;
    await using client = await openSandboxes({ remote: { signingKey, keyId } });
    const tool = defineTool({
      name: "count",
      description: "",
      inputSchema: { type: "object" },
      remote: { executor: `http://${executor.address}` },
    });
    // The executor says after three quarters of it that the call waits. A quarter is long enough for a busy machine.
    const policy = new RulePolicy({
      rules: [{ tools: ["*"], effect: "allow", sandboxes: ["remote"], limits: { wallTimeMs: 1_500 } }],
    });
    const ctx = { registry: new ToolRegistry().register(tool), policy, sandboxes: client, sessionId: "s" };
    const waiting = new ToolDispatchEngine().dispatch({ id: "1", name: "count", arguments: {} }, ctx);
    await delay(3_000);
    held.release();
    const execution = await waiting;
    expect(execution).toMatchObject({ success: true, receipt: { used: { waitedMs: expect.any(Number) } } });
    const { waitedMs = 0, wallTimeMs } = execution?.receipt.used ?? { wallTimeMs: 0 };
    expect(waitedMs).toBeGreaterThan(wallTimeMs);
    await running;
  });

  test("with large bodies that it announces and does not send", async () => {
    const bodyBytes = 65_536;
    const executor = await startExecutor([new CountingTool().tool], { keys: KEYS, limits: { bodyBytes } });
    const sockets = Array.from({ length: 70 }, () => begin(executor, greedy, bodyBytes));
    await Promise.all(sockets.map((socket) => until(() => socket.bytesWritten > 0)));
    for (const client of [modest, greedy]) {
      expect(executionOf(await client.dispatch(executor, dispatchBody({ name: "count" }))).success).toBe(
        true,
      );
    }
  });
});
