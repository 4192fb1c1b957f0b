import { expect, test } from "vitest";
// Inside: compares two open calls that differ in one name only, and ends them in either order.
import { OpenCalls } from "../../../src/journal/write/open-calls.ts";

const CALL = { session: "s1", tool: "pay", tool_call_id: "c1", turn: "t1", message: "m1" };

test.each([
  ["turn", { ...CALL, turn: "t2" }],
  ["message", { ...CALL, message: "m2" }],
  ["session", { ...CALL, session: "s2" }],
  ["tool", { ...CALL, tool: "look" }],
])("The end of a call is not that of one with its id and another %s", (_, other) => {
  for (const [ended, left] of [
    [CALL, other],
    [other, CALL],
  ] as const) {
    const open = new OpenCalls();
    open.begin(CALL);
    open.end(other);
    expect(open.list()).toEqual([CALL]);
    open.begin(other);
    open.end(ended);
    expect(open.list()).toEqual([left]);
    open.end(left);
    expect(open.list()).toEqual([]);
  }
});
