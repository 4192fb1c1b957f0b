import { describe, expect, test } from "vitest";
// Inside: chooses the texts, times and widths of a table; `sandgate dispatch` shows only calls that it ran.
import { type RulesOfExecutions, formatTable as tableOf } from "../../../src/cli/commands/dispatch.ts";
import { withoutStyles } from "../../../src/cli/terminal.ts";
import { NOTHING_RAN, type ToolExecution } from "../../../src/engine/call/execution.ts";
import { sealExecution } from "../../../src/engine/result.ts";
import { textWidth } from "../../../src/rendering/lines.ts";

function execution(callId: string, toolName: string, output: string, failed = false): ToolExecution {
  return sealExecution(
    {
      callId,
      toolName,
      arguments: {},
      success: !failed,
      output: failed ? null : output,
      durationMs: 1.5,
      sandbox: "host",
      receipt: NOTHING_RAN,
    },
    failed
      ? { error: { code: "execution_error", message: output, effect: "unknown", userVisible: true } }
      : {},
  );
}

/** The table as a stream without styles shows it. */
function formatTable(
  executions: readonly ToolExecution[],
  columns: number,
  rules?: RulesOfExecutions,
): string {
  return withoutStyles(tableOf(executions, columns, rules).text);
}

/** The table's lines without the times, which vary. */
function lines(table: string): string[] {
  return table.split("\n").map((line) => line.replace(/\S+$/, "").trimEnd());
}

test("shows call, tool, sandbox, outcome, rules and time in one line per call", () => {
  const added = execution("1", "add", "3");
  const executions = [added, execution("call_2", "fetch", "no route", true)];
  const table = formatTable(executions, 80, new Map([[added, ["org", "team"]]]));
  expect(table.split("\n")[0]).toMatch(/^ {2}call {4}tool {3}sandbox {2}outcome {19}\s+rules {6}time$/);
  expect(lines(table).slice(1)).toEqual([
    "| 1       add    host     ok: 3                      org, team",
    "| call_2  fetch  host     execution_error: no route  -",
  ]);
  expect(table.split("\n")[1]).toMatch(/ \d+(\.\d+)?m?s$/);
});

test("cuts the outcome to the terminal's width", () => {
  const table = formatTable([execution("1", "read", "x".repeat(5_000))], 60);
  for (const line of table.split("\n")) expect(textWidth(line)).toBeLessThanOrEqual(60);
  expect(table).toMatch(/ok: x+…x+ /);
});

test("cuts ids and names that would push the outcome out of view", () => {
  const table = formatTable([execution("i".repeat(500), "n".repeat(500), "the outcome")], 100);
  expect(table).toContain("ok: the outcome");
  expect(table).not.toContain("n".repeat(40));
});

test("shows no run of spaces that would look like the next column, and no row without its prefix", () => {
  const table = formatTable([execution("sandgate: allowed  rm  host", "rm", "done")], 120);
  expect(table.split("\n")[1]).toMatch(/^\| sandgate: al…/);
  expect(formatTable([execution("1  rm", "rm", "done")], 120)).toContain("| 1 ⟦1 space⟧rm  rm  ");
});

describe("formatTable protects the terminal from", () => {
  test.each([
    ["escape sequences", "\u001b[2J\u001b]0;title\u0007"],
    ["line breaks that forge a row", "ok\n2  rm  host  ok"],
    ["bidi controls", "\u202egpj.exe\u2066"],
    ["C1 controls", "\u009b2J"],
  ])("%s", (_, text) => {
    const table = formatTable([execution(text, text, text), execution(text, text, text, true)], 100);
    expect(table.split("\n")).toHaveLength(3);
    expect(table).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
  });
});
