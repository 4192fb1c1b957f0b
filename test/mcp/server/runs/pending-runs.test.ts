import { expect, test, vi } from "vitest";
// Inside: fills all the room that there is for calls that wait, without their clients.
import { Run } from "../../../../src/mcp/server/runs/run.ts";
import { PendingRuns } from "../../../../src/mcp/server/runs/runs.ts";

function newRun() {
  const cancel = vi.fn();
  const run = new Run({ capabilities: {}, early: {}, cancel, suspendSlot: () => async () => {} });
  return { run, cancel };
}

test("a call is taken once, by its principal and for its request only", () => {
  const pending = new PendingRuns();
  const { run } = newRun();
  const state = pending.add(run, "alice", "request") ?? "";
  expect(pending.take(state, "bob", "request")).toBeUndefined();
  expect(pending.take(state, "alice", "another request")).toBeUndefined();
  expect(pending.take(state, "alice", "request")).toBe(run);
  expect(pending.take(state, "alice", "request")).toBeUndefined();
});

test("each round has a state of its own, and the earlier ones no longer open", () => {
  const pending = new PendingRuns();
  const { run } = newRun();
  const first = pending.add(run, "alice", "request") ?? "";
  expect(pending.take(first, "alice", "request")).toBe(run);
  const second = pending.add(run, "alice", "request") ?? "";
  expect(pending.take(first, "alice", "request")).toBeUndefined();
  expect(pending.take(second, "alice", "request")).toBe(run);
});

test("a call whose client does not come back is cancelled", () => {
  vi.useFakeTimers();
  try {
    const pending = new PendingRuns(1_000);
    const { run, cancel } = newRun();
    const state = pending.add(run, "alice", "request") ?? "";
    vi.advanceTimersByTime(1_001);
    expect(cancel).toHaveBeenCalledOnce();
    expect(pending.take(state, "alice", "request")).toBeUndefined();
  } finally {
    vi.useRealTimers();
  }
});

test("one principal cannot take all the room", () => {
  const pending = new PendingRuns();
  for (let count = 0; count < 32; count++) expect(pending.add(newRun().run, "alice", "r")).toBeDefined();
  const { run, cancel } = newRun();
  expect(pending.add(run, "alice", "r")).toBeUndefined();
  expect(cancel).toHaveBeenCalledOnce();
  expect(pending.add(newRun().run, "bob", "r")).toBeDefined();
  pending.close();
});
