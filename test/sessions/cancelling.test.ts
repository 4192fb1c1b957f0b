import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import type { Sandbox, SandboxRouter } from "../../src/sandboxes/contract/sandbox.ts";
import { call, Gate, testSessions, tool } from "./harness.ts";

describe("cancelling a turn", () => {
  test("stops what runs, and what waits for a place never runs", async () => {
    const gate = new Gate();
    const { sessions, events } = await testSessions([tool("wait", "read", gate.host)], {
      limits: { concurrency: 2 },
    });
    const session = await sessions.open();
    const turn = session.turn();
    const results = turn.dispatchAll(["a", "b", "c"].map((id) => call(id, "wait")));
    await gate.hasBegun(2);
    await turn.cancel();
    expect(gate.ended).toEqual(["a", "b"]);
    expect(await results).toMatchObject([
      { error: { code: "cancelled", effect: "unknown" } },
      { error: { code: "cancelled", effect: "unknown" } },
      { error: { code: "cancelled", effect: "none" } },
    ]);
    expect(gate.begun).toEqual(["a", "b"]);
    expect(events.filter(({ type }) => type === "tool.failed")).toHaveLength(3);
    expect(await turn.dispatch(call("d", "wait"))).toMatchObject({ error: { code: "cancelled" } });
    // Other turns of the session go on.
    const other = session.turn().dispatch(call("e", "wait"));
    await gate.hasBegun(3);
    gate.release("e");
    expect(await other).toMatchObject({ success: true });
  });

  test("also ends the messages that wait for an earlier one", async () => {
    const gate = new Gate();
    const { sessions } = await testSessions([tool("wait", "read", gate.host)]);
    const session = await sessions.open();
    const first = session.turn().dispatchAll([call("a", "wait")]);
    const second = session.turn();
    const results = second.dispatchAll([call("b", "wait")]);
    await gate.hasBegun(1);
    await second.cancel();
    expect(await results).toMatchObject([{ error: { code: "cancelled", effect: "none" } }]);
    gate.release("a");
    expect(await first).toMatchObject([{ success: true }]);
    expect(gate.begun).toEqual(["a"]);
  });

  test("leaves later messages waiting for those that still run", async () => {
    const gate = new Gate();
    const { sessions } = await testSessions([tool("wait", "read", gate.host)]);
    const session = await sessions.open();
    const first = session.turn().dispatchAll([call("a", "wait")]);
    await gate.hasBegun(1);
    const second = session.turn();
    const cancelled = second.dispatchAll([call("b", "wait")]);
    await second.cancel();
    await cancelled;
    const third = session.turn().dispatchAll([call("c", "wait")]);
    await nextTurn();
    expect(gate.begun).toEqual(["a"]);
    gate.release("a");
    await gate.hasBegun(2);
    gate.release("c");
    expect([await first, await third]).toMatchObject([[{ success: true }], [{ success: true }]]);
    expect(gate.mostAtOnce).toBe(1);
  });

  test("stops the calls that a turn makes after the calls of another turn", async () => {
    const gate = new Gate();
    const { sessions } = await testSessions([
      tool("wait", "read", gate.host),
      tool("echo", "read", async (input: unknown) => input),
    ]);
    const session = await sessions.open();
    const [turn, other] = [session.turn(), session.turn()];
    for (const each of [turn, other, turn, other]) {
      expect(await each.dispatch(call("first", "echo"))).toMatchObject({ success: true });
    }
    const result = turn.dispatch(call("a", "wait"));
    const unharmed = other.dispatch(call("b", "wait"));
    await gate.hasBegun(2);
    await turn.cancel();
    expect(await result).toMatchObject({ error: { code: "cancelled" } });
    expect(gate.ended).toEqual(["a"]);
    gate.release("b");
    expect(await unharmed).toMatchObject({ success: true });
    // A turn that was cancelled stays so, even after calls of others.
    await other.dispatch(call("last", "echo"));
    expect(await turn.dispatch(call("c", "wait"))).toMatchObject({ error: { code: "cancelled" } });
  });

  test("ends a message that waits, although other calls of the turn have ended meanwhile", async () => {
    const gate = new Gate();
    const { sessions } = await testSessions([
      tool("wait", "read", gate.host),
      tool("echo", "read", async (input: unknown) => input),
    ]);
    const session = await sessions.open();
    const [turn, other] = [session.turn(), session.turn()];
    const first = other.dispatchAll([call("a", "wait")]);
    await gate.hasBegun(1);
    const results = turn.dispatchAll([call("b", "wait")]);
    // The second turn that rests has the first one give up its signal, unless a message waits.
    for (const each of [turn, session.turn()]) await each.dispatch(call("echo", "echo"));
    await turn.cancel();
    expect(await results).toMatchObject([{ error: { code: "cancelled", effect: "none" } }]);
    gate.release("a");
    expect(await first).toMatchObject([{ success: true }]);
    expect(gate.begun).toEqual(["a"]);
  });

  test("stops the later calls of a message whose first calls ended at once", async () => {
    const gate = new Gate();
    const { sessions } = await testSessions([
      tool("wait", "read", gate.host),
      tool("echo", "read", (input: unknown) => input),
    ]);
    const session = await sessions.open();
    const turn = session.turn();
    const results = turn.dispatchAll([call("a", "echo"), call("b", "wait")]);
    await gate.hasBegun(1);
    await session.turn().dispatch(call("c", "echo"));
    await turn.cancel();
    expect(await results).toMatchObject([{ success: true }, { error: { code: "cancelled" } }]);
  });

  test("calls an instance's cancel once, and fails the call after it has ended", async () => {
    const order: string[] = [];
    const running = Promise.withResolvers<void>();
    const tearDown = Promise.withResolvers<void>();
    const host = {
      create: () => ({
        execute: () => {
          running.resolve();
          return new Promise(() => {});
        },
        cancel: async () => {
          order.push("cancel");
          await tearDown.promise;
          order.push("ended");
          return true;
        },
      }),
    };
    const { sessions, events } = await testSessions([
      { name: "slow", description: "", inputSchema: {}, sideEffects: "read", host },
    ]);
    const session = await sessions.open();
    const result = session.turn().dispatch(call("a", "slow"));
    await running.promise;
    const cancelled = session.cancel();
    const again = session.cancel();
    expect(events.some(({ type }) => type === "tool.failed")).toBe(false);
    tearDown.resolve();
    await Promise.all([cancelled, again]);
    expect(order).toEqual(["cancel", "ended"]);
    expect(await result).toMatchObject({ error: { code: "cancelled" } });
    expect(events.at(-1)?.type).toBe("tool.failed");
  });

  test("keeps what the tool had streamed, without secrets", async () => {
    const running = Promise.withResolvers<void>();
    const stream = tool("stream", "read", async (_input, { onOutput, signal }) => {
      onOutput("half AKIAIOSFODNN7EXAMPLE");
      running.resolve();
      await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal)));
    });
    const { sessions, events } = await testSessions([stream]);
    const turn = (await sessions.open()).turn();
    const result = turn.dispatch(call("a", "stream"));
    await running.promise;
    await turn.cancel();
    expect(await result).toMatchObject({ partialOutput: "half [redacted: aws-key]" });
    expect(events.at(-1)).toMatchObject({
      type: "tool.failed",
      execution: { partialOutput: "half [redacted: aws-key]" },
    });
  });

  test("abandons a call after 30 seconds that does not end, with a warning and a result", async () => {
    const warnings: (Error & { code?: string })[] = [];
    const onWarning = (warning: Error): unknown => warnings.push(warning);
    process.on("warning", onWarning);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const deaf: Sandbox = {
        mode: "host",
        capabilities: new Set(),
        defaults: {},
        unenforceable: () => undefined,
        prepare: async () => {},
        run: () => new Promise(() => {}),
        close: async () => {},
      };
      const sandboxes: SandboxRouter = { route: () => deaf };
      const { sessions } = await testSessions([tool("deaf", "read")], { sandboxes });
      const session = await sessions.open();
      const result = session.turn().dispatch(call("a", "deaf"));
      const cancelled = session.cancel();
      await vi.advanceTimersByTimeAsync(29_999);
      expect(warnings).toEqual([]);
      await vi.advanceTimersByTimeAsync(1);
      await cancelled;
      expect(await result).toMatchObject({
        error: { code: "cancelled", effect: "unknown", message: "Tool call was cancelled" },
        receipt: { mayStillRun: true, ended: "unknown" },
      });
      // Warnings are emitted in the next tick.
      await new Promise((resolve) => setImmediate(resolve));
      expect(warnings).toMatchObject([{ code: "SANDGATE_CALL_ABANDONED" }]);
    } finally {
      vi.useRealTimers();
      process.off("warning", onWarning);
    }
  });
});

describe("closing a session", () => {
  test("cancels its calls, removes it, and lets no turn of it run anything", async () => {
    const gate = new Gate();
    const { sessions } = await testSessions([tool("wait", "read", gate.host)]);
    const session = await sessions.open({ id: "one" });
    const turn = session.turn();
    const idle = session.turn();
    const result = turn.dispatch(call("a", "wait"));
    await gate.hasBegun(1);
    await session.close();
    expect(await result).toMatchObject({ error: { code: "cancelled" } });
    expect(sessions.get("one")).toBeUndefined();
    expect(await idle.dispatch(call("b", "wait"))).toMatchObject({ error: { code: "cancelled" } });
    expect(() => session.turn()).toThrow(/closed/);
    expect(gate.begun).toEqual(["a"]);
    expect((await sessions.open({ id: "one" })).id).toBe("one");
  });
});
