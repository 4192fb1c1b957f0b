import { expect, test, vi } from "vitest";
import { PendingRuns } from "../../../../src/mcp/server/runs/pending-runs.ts";
import { Run } from "../../../../src/mcp/server/runs/run.ts";

function newRun() {
  const cancel = vi.fn();
  const run = new Run({ capabilities: {}, early: {}, cancel, suspendSlot: () => async () => {} });
  return { run, cancel };
}

test("a call is taken once, by its principal and for its request only", () => {
  const held = new PendingRuns();
  const { run } = newRun();
  const state = held.hold(run, "alice", "request") ?? "";
  expect(held.take(state, "bob", "request")).toBeUndefined();
  expect(held.take(state, "alice", "another request")).toBeUndefined();
  expect(held.take(state, "alice", "request")).toBe(run);
  expect(held.take(state, "alice", "request")).toBeUndefined();
});

test("each round has a state of its own, and the earlier ones no longer open", () => {
  const held = new PendingRuns();
  const { run } = newRun();
  const first = held.hold(run, "alice", "request") ?? "";
  expect(held.take(first, "alice", "request")).toBe(run);
  const second = held.hold(run, "alice", "request") ?? "";
  expect(held.take(first, "alice", "request")).toBeUndefined();
  expect(held.take(second, "alice", "request")).toBe(run);
});

test("a call whose client does not come back is cancelled", () => {
  vi.useFakeTimers();
  try {
    const held = new PendingRuns(1_000);
    const { run, cancel } = newRun();
    const state = held.hold(run, "alice", "request") ?? "";
    vi.advanceTimersByTime(1_001);
    expect(cancel).toHaveBeenCalledOnce();
    expect(held.take(state, "alice", "request")).toBeUndefined();
  } finally {
    vi.useRealTimers();
  }
});

test("one principal cannot take all the room", () => {
  const held = new PendingRuns();
  for (let count = 0; count < 32; count++) expect(held.hold(newRun().run, "alice", "r")).toBeDefined();
  const { run, cancel } = newRun();
  expect(held.hold(run, "alice", "r")).toBeUndefined();
  expect(cancel).toHaveBeenCalledOnce();
  expect(held.hold(newRun().run, "bob", "r")).toBeDefined();
  held.close();
});
