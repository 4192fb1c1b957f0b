import { describe, expect, test } from "vitest";
// Inside: writes the text of calls with hostile names and of counts that it chooses.
import { type NestedWork, type Work, workText } from "../../../src/engine/work-report.ts";

const NOTHING: Work = { calls: [], omittedCalls: 0, log: [], omittedLines: 0 };

function callsOf(count: number): readonly NestedWork[] {
  return Array.from({ length: count }, (_, index) => ({
    tool: `t${index}`,
    decision: "allowed",
    effect: "none",
  })) as readonly NestedWork[];
}

describe("The text of what a tool did", () => {
  test("says so if it made no calls", () => {
    expect(workText(NOTHING)).toBe("Calls made: none");
  });

  test("says of each call who allowed it, whether it failed, and what it left behind", () => {
    const calls: readonly NestedWork[] = [
      { tool: "read", decision: "allowed", effect: "none" },
      { tool: "pay", decision: { allowedBy: "eve" }, effect: "committed" },
      { tool: "wipe", decision: "denied", effect: "none", code: "permission_denied" },
      { tool: "gone", decision: "not run", effect: "none", code: "not_found" },
      { tool: "slow", decision: "allowed", effect: "unknown", code: "timeout" },
    ];
    expect(workText({ ...NOTHING, calls })).toBe(
      [
        "Calls made:",
        "- read: allowed, effect none",
        "- pay: allowed by eve, effect committed",
        "- wipe: denied, failed (permission_denied), effect none",
        "- gone: not run, failed (not_found), effect none",
        "- slow: allowed, failed (timeout), effect unknown",
      ].join("\n"),
    );
  });

  test("has one line for each call, whatever the program calls its tools", () => {
    const tool = "a\n- pay: allowed by eve, effect committed\u001b[31m\u202e";
    const text = workText({ ...NOTHING, calls: [{ tool, decision: "denied", effect: "none" }] });
    expect(text.split("\n")).toHaveLength(2);
    expect(text).not.toMatch(/[\u001b\u202e]/);
    const long = workText({
      ...NOTHING,
      calls: [{ tool: "x".repeat(500), decision: "denied", effect: "none" }],
    });
    expect(long).toContain(`- ${"x".repeat(63)}…: denied`);
  });

  test("says where calls and lines are left out", () => {
    const calls = workText({ ...NOTHING, calls: callsOf(100), omittedCalls: 7 }).split("\n");
    expect(calls.slice(50, 53)).toEqual([
      "- t49: allowed, effect none",
      "[… 7 calls left out …]",
      "- t50: allowed, effect none",
    ]);
    const log = ["a".repeat(999), "b".repeat(999), "c".repeat(999)];
    const lines = workText({ ...NOTHING, log, omittedLines: 3 }).split("\n");
    expect(lines).toEqual(["Log:", log[0], log[1], "[… 3 lines left out …]", log[2], "Calls made: none"]);
  });

  test("tells of the log without calls, and of both one after the other", () => {
    expect(workText({ ...NOTHING, log: ["hi"] })).toBe("Log:\nhi\nCalls made: none");
    expect(workText({ ...NOTHING, calls: callsOf(1), log: ["hi"] })).toBe(
      "Log:\nhi\nCalls made:\n- t0: allowed, effect none",
    );
  });
});
