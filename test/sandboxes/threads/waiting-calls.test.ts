import { expect, test, vi } from "vitest";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { dispatch, dispatchBody, send, startExecutor } from "../../executor/harness.ts";
import { Programs } from "../../programs/harness.ts";

test("calls that wait for a thread are counted, until they run or are cancelled", async () => {
  const sandboxes = await openSandboxes({ workers: { threads: 1 } });
  expect(sandboxes.stats()).toEqual({ abandoned: 0, waiting: 0 });
  const cancel = new AbortController();
  const programs = new Programs(sandboxes, { more: { signal: cancel.signal } });
  const calls = [1, 2, 3].map((ms) => programs.run(`for (;;); ${ms}`));
  await vi.waitFor(() => expect(sandboxes.stats().waiting).toBe(2), { timeout: 20_000 });
  cancel.abort();
  await Promise.all(calls);
  expect(sandboxes.stats()).toEqual({ abandoned: 0, waiting: 0 });
  await sandboxes.close();
  expect(sandboxes.stats()).toEqual({ abandoned: 0, waiting: 0 });
});

test("an executor shows their number, and that of calls which could not be ended", async () => {
  const executor = await startExecutor([]);
  await dispatch(executor, dispatchBody({ name: "gone" }));
  const { text } = await send(executor, { method: "GET", path: "/metrics" });
  expect(text).toContain("\nsandgate_calls_waiting_for_thread 0\n");
  expect(text).toContain("\nsandgate_calls_abandoned 0\n");
});
