import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { contextFor, dispatchTool, hostTool } from "../../engine/helpers.ts";

const waiting = hostTool(() => new Promise(() => {}));

test("calls of host functions listen to their signal once", async () => {
  const { signal } = new AbortController();
  const context = await contextFor([hostTool(async () => "end")], { signal });
  for (let i = 0; i < 3; i++) {
    const { success } = await dispatchTool(context);
    expect(success).toBe(true);
  }
  await Promise.all([dispatchTool(context), dispatchTool(context)]);
  expect(getEventListeners(signal, "abort")).toHaveLength(1);
});

test("a signal cancels all its calls of host functions that run, and no others", async () => {
  const [cancel, other] = [new AbortController(), new AbortController()];
  const context = await contextFor([waiting], { signal: cancel.signal });
  const calls = [dispatchTool(context), dispatchTool({ ...context, signal: other.signal })];
  calls.push(dispatchTool(context));
  cancel.abort();
  const [first, , third] = calls;
  for (const call of [first, third]) expect((await call)?.error?.code).toBe("cancelled");
  expect(await Promise.race([calls[1], "runs"])).toBe("runs");
  other.abort();
  expect((await calls[1])?.error?.code).toBe("cancelled");
});

test("a signal cancels a host function after it had calls that ended", async () => {
  const cancel = new AbortController();
  let isFirst = true;
  const tool = hostTool(async () => {
    if (!isFirst) return new Promise(() => {});
    isFirst = false;
    return "end";
  });
  const context = await contextFor([tool], { signal: cancel.signal });
  expect((await dispatchTool(context)).success).toBe(true);
  const call = dispatchTool(context);
  cancel.abort();
  expect((await call).error?.code).toBe("cancelled");
});
