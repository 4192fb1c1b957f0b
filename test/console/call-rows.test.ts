import { expect, test } from "vitest";
// Inside: arranges calls that began in the same millisecond, which a server does not make on request.
import { callRows } from "../../src/console/live/call-rows.ts";
import type { CallSummary } from "../../src/shapes/calls.ts";

const NO_FILTER = { session: "", tool: "", state: "", code: "" };

function call(number: number, more: Partial<CallSummary> = {}): CallSummary {
  return {
    ref: `e-${number}`,
    callId: `c${number}`,
    toolName: "t",
    sessionId: "s",
    sideEffects: "none",
    startedAt: 1_000,
    state: "completed",
    durationMs: 1,
    phases: [],
    ...more,
  };
}

const refs = (calls: readonly CallSummary[], filter: Partial<typeof NO_FILTER> = {}): readonly string[] =>
  callRows(calls, { ...NO_FILTER, ...filter }, 2_000).map(({ call: { ref } }) => ref);

test("the newest calls are first, also of those that began at once", () => {
  expect(refs([call(9), call(100), call(10), call(1, { startedAt: 1_001 })])).toEqual([
    "e-1",
    "e-100",
    "e-10",
    "e-9",
  ]);
});

test("a call that does not match is there if one below it does", () => {
  const calls = [call(1), call(2, { parent: "e-1", code: "timeout" }), call(3)];
  expect(refs(calls, { code: "time" })).toEqual(["e-1", "e-2"]);
});
