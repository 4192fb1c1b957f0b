import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import type { DispatchContext } from "../../src/engine/call/context.ts";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { contextFor, hostTool } from "./helpers.ts";

const engine = new ToolDispatchEngine();
const CALL = { id: "1", name: "tool", arguments: {} };
const echo = hostTool((input) => input);

const never = (): Promise<never> => new Promise(() => {});

const HUNG: readonly [string, Partial<DispatchContext>][] = [
  ["policy", { policy: { check: never } }],
  ["onToolCall hook", { hooks: { onToolCall: never } }],
  ["onToolStart hook", { hooks: { onToolStart: never } }],
];

const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;

describe("a decision that never comes", () => {
  test.each(HUNG)("leaves no listener and no timer behind when the %s hangs", async (_who, hung) => {
    const { signal } = new AbortController();
    const ctx = await contextFor([echo], { ...hung, signal, decisionTimeoutMs: 5 });
    const before = timers();
    const executions = await Promise.all(Array.from({ length: 1_000 }, () => engine.dispatch(CALL, ctx)));
    expect(new Set(executions.map((execution) => execution?.error?.code))).toEqual(
      new Set(["permission_denied"]),
    );
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
    // The test runner has a few timers of its own, which come and go.
    expect(timers()).toBeLessThan(before + 10);
  });

  test.each(HUNG)("is cancelled at once by the signal when the %s hangs", async (_who, hung) => {
    const cancel = new AbortController();
    const ctx = await contextFor([echo], { ...hung, signal: cancel.signal, decisionTimeoutMs: 2 ** 31 - 1 });
    const running = engine.dispatch(CALL, ctx);
    setImmediate(() => cancel.abort());
    expect((await running)?.error).toMatchObject({ code: "cancelled", effect: "none" });
    expect(getEventListeners(cancel.signal, "abort")).toHaveLength(0);
  });
});

test.each([
  0,
  -1,
  0.5,
  2 ** 31,
  Number.POSITIVE_INFINITY,
  Number.NaN,
  "5000",
])("a context with a decisionTimeoutMs of %s is a TypeError", async (decisionTimeoutMs) => {
  const ctx = await contextFor([echo], { decisionTimeoutMs: decisionTimeoutMs as number });
  expect(() => engine.dispatch(CALL, ctx)).toThrow(TypeError);
  await expect(engine.dispatchAll([CALL], ctx)).rejects.toThrow("decisionTimeoutMs must be a number from 1");
});
