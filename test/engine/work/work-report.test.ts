import { describe, expect, test } from "vitest";
// Inside: reports more calls and lines than fit, without tools that make them.
import { type NestedWork, WorkReport } from "../../../src/engine/work-report.ts";
import type { TaskObserver } from "../../../src/sandboxes/contract/sandbox.ts";

function callOf(tool: string): NestedWork {
  return { tool, decision: "allowed", effect: "none" };
}

/** An observer that writes down what it hears. */
function listener(): { readonly heard: unknown[]; readonly observer: TaskObserver } {
  const heard: unknown[] = [];
  return {
    heard,
    observer: {
      output: (chunk) => void heard.push(["output", chunk]),
      log: (level, message) => void heard.push(["log", level, message]),
      display: (display) => void heard.push(["display", display]),
    },
  };
}

describe("A report of what a tool does", () => {
  test("passes everything on as it is", () => {
    const { heard, observer } = listener();
    const report = new WorkReport(observer);
    const long = "x".repeat(5_000);
    report.output("half");
    report.log("warn", long);
    report.display({ kind: "text", text: "shown" } as never);
    expect(heard).toEqual([
      ["output", "half"],
      ["log", "warn", long],
      ["display", { kind: "text", text: "shown" }],
    ]);
  });

  test("has the calls in the order in which they ended, and the lines with their levels", () => {
    const report = new WorkReport(listener().observer);
    report.called(callOf("b"), 1);
    report.called(callOf("a"), 2);
    report.log("info", "plain");
    report.log("error", "broken");
    expect(report.work).toEqual({
      calls: [callOf("b"), callOf("a")],
      omittedCalls: 0,
      log: ["plain", "[error] broken"],
      omittedLines: 0,
    });
  });

  test("has the first 50 calls and the last 50, and the ends of the log, with long lines cut", () => {
    const report = new WorkReport(listener().observer);
    for (let index = 0; index < 120; index++) report.called(callOf(`t${index}`), index + 1);
    for (let index = 0; index < 100; index++) report.log("info", `${index}`.padEnd(1_500, "-"));
    const { calls, omittedCalls, log, omittedLines } = report.work;
    expect(calls.map(({ tool }) => tool).slice(49, 51)).toEqual(["t49", "t70"]);
    expect([calls.length, omittedCalls]).toEqual([100, 20]);
    expect(log.every((line) => line.length === 1_000 && line.endsWith("…"))).toBe(true);
    expect(log.at(-1)).toMatch(/^99-/);
    expect(log.length + omittedLines).toBe(100);
  });

  test("goes on from what was done before the tool was suspended", () => {
    const before = new WorkReport(listener().observer);
    before.called(callOf("first"), 1);
    before.log("info", "before");
    const { heard, observer } = listener();
    const after = new WorkReport(observer, before.work);
    after.called(callOf("second"), 1);
    after.log("info", "after");
    expect(after.work.calls.map(({ tool }) => tool)).toEqual(["first", "second"]);
    expect(after.work.log).toEqual(["before", "after"]);
    // What was passed on before the suspension is not passed on again.
    expect(heard).toEqual([["log", "info", "after"]]);
  });
});
