import { expect, test } from "vitest";
import type { ToolCall } from "../../src/engine/call.ts";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { contextFor, hostTool, recordEvents } from "./helpers.ts";

const engine = new ToolDispatchEngine();
const call = (id: string, more: Partial<ToolCall> = {}): ToolCall => ({
  id,
  name: "tool",
  arguments: {},
  ...more,
});

test("the calls of a message that was cut off do not run, and fail as cancelled without an effect", async () => {
  const { events, seen } = recordEvents();
  let runs = 0;
  const ctx = await contextFor([hostTool(() => ++runs)], { events });
  const executions = await engine.dispatchTurn({ calls: [call("1"), call("2", { cutOff: true })] }, ctx);
  expect(runs).toBe(1);
  expect(executions).toMatchObject([
    { callId: "1", success: true, output: 1 },
    {
      callId: "2",
      success: false,
      sandbox: null,
      error: {
        code: "cancelled",
        message: "Tool call was not run: its message was cut off",
        effect: "none",
      },
    },
  ]);
  expect(seen).toContainEqual(expect.objectContaining({ type: "tool.failed", callId: "2" }));
});

test("the results keep the order of the calls, even if a hook aborts one", async () => {
  const hooks = { onToolCall: ({ id }: ToolCall) => (id === "2" ? ("abort" as const) : undefined) };
  const ctx = await contextFor([hostTool(() => null)], { hooks });
  const calls = [call("1", { cutOff: true }), call("2"), call("3"), call("4", { cutOff: true })];
  const executions = await engine.dispatchTurn({ calls }, ctx);
  expect(executions.map((execution) => execution?.callId)).toEqual(["1", undefined, "3", "4"]);
  expect(executions.map((execution) => execution?.error?.code)).toEqual([
    "cancelled",
    undefined,
    undefined,
    "cancelled",
  ]);
});

test("the calls of a message that was cut off run if the embedder says so", async () => {
  const ctx = await contextFor([hostTool(() => "ran")]);
  const turn = { calls: [call("1", { cutOff: true })] };
  expect(await engine.dispatchTurn(turn, ctx, { cutOff: "run" })).toMatchObject([{ output: "ran" }]);
});

test("a call that cannot be read has a result, too", async () => {
  const unreadable = new Proxy(call("1"), {
    get: () => {
      throw new Error("no");
    },
  });
  const executions = await engine.dispatchTurn({ calls: [unreadable] }, await contextFor([]));
  expect(executions).toMatchObject([{ error: { code: "validation_error" } }]);
});

test("the assistant's message repeats its text, and only the calls with a result", async () => {
  const hooks = { onToolCall: ({ id }: ToolCall) => (id === "2" ? ("abort" as const) : undefined) };
  const ctx = await contextFor([hostTool(() => "ran")], { hooks });
  const calls = [call("1"), call("2")];
  const executions = await engine.dispatchAll(calls, ctx);
  const [assistant, tool] = engine.buildToolResultMessages(calls, executions, { text: "So." });
  expect(assistant).toEqual({ role: "assistant", text: "So.", toolCalls: [calls[0]] });
  expect(tool.results.map(({ callId }) => callId)).toEqual(["1"]);
  expect(engine.buildToolResultMessages(calls, executions)[0]).not.toHaveProperty("text");
});
