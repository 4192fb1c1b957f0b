import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type PoolOutcome, PoolTask } from "../../../../src/sandboxes/threads/pool-task.ts";
import { SlowTools } from "../../../../src/sandboxes/threads/worker-pool.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

function taskOf(tool: string | undefined, wallTimeMs: number | undefined): PoolTask {
  const observer = { output: () => {}, log: () => {} };
  const ignore = (): void => {};
  return new PoolTask({}, { wallTimeMs, signal: undefined, observer, ...(tool && { tool }) }, ignore, ignore);
}

const task = taskOf("tool", 100);
const IN_TIME: PoolOutcome<string> = { status: "returned", result: "", wallTimeMs: 99 };
const DEADLINE: PoolOutcome<string> = { status: "timeout", started: true, wallTimeMs: 100 };

describe("SlowTools", () => {
  test("a tool is slow after a call that exceeded its deadline, whatever ended the call", () => {
    const tools = new SlowTools();
    expect([tools.learn(task, IN_TIME), tools.has("tool")]).toEqual([false, false]);
    expect([tools.learn(task, DEADLINE), tools.has("tool")]).toEqual([true, true]);
    expect(tools.learn(task, DEADLINE)).toBe(false);
    expect(tools.has("other")).toBe(false);
    // This call was ended by the guest's own clock.
    const ended = { status: "returned", result: "", wallTimeMs: 100 } as const;
    expect([tools.learn(taskOf("other", 100), ended), tools.has("other")]).toEqual([true, true]);
  });

  test.each<[string, PoolTask, PoolOutcome<string>]>([
    ["has no deadline", taskOf("tool", undefined), { ...IN_TIME, wallTimeMs: 1e6 }],
    ["has no name", taskOf(undefined, 100), DEADLINE],
    ["held its thread for a moment only", taskOf("tool", 1), { ...DEADLINE, wallTimeMs: 10 }],
    ["was cancelled before", task, { status: "cancelled", started: true, wallTimeMs: 99 }],
  ])("a tool is not slow if its call %s", (_case, ended, outcome) => {
    const tools = new SlowTools();
    expect(tools.learn(ended, outcome)).toBe(false);
    expect(tools.has("tool")).toBe(false);
  });

  test("a slow tool is trusted again after 64 consecutive calls in time", () => {
    const tools = new SlowTools();
    tools.learn(task, DEADLINE);
    for (let i = 0; i < 63; i++) tools.learn(task, IN_TIME);
    expect(tools.has("tool")).toBe(true);
    tools.learn(task, DEADLINE);
    for (let i = 0; i < 63; i++) tools.learn(task, IN_TIME);
    tools.learn(task, { status: "crashed", started: true, error: new Error(), wallTimeMs: 1 });
    expect(tools.has("tool")).toBe(true);
    tools.learn(task, IN_TIME);
    expect(tools.has("tool")).toBe(false);
  });

  test("a slow tool is trusted again after a minute without an exceeded deadline", () => {
    const tools = new SlowTools();
    tools.learn(task, DEADLINE);
    vi.advanceTimersByTime(59_000);
    tools.learn(task, DEADLINE);
    vi.advanceTimersByTime(59_000);
    expect(tools.has("tool")).toBe(true);
    vi.advanceTimersByTime(1_000);
    expect(tools.has("tool")).toBe(false);
    expect(tools.learn(task, DEADLINE)).toBe(true);
  });

  test("a slow tool is forgotten if a thousand others are slow", () => {
    const tools = new SlowTools();
    for (let i = 0; i <= 1_000; i++) tools.learn(taskOf(`tool ${i}`, 100), DEADLINE);
    expect([tools.has("tool 0"), tools.has("tool 1"), tools.has("tool 1000")]).toEqual([false, true, true]);
  });
});
