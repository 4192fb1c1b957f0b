import { describe, expect, test } from "vitest";
import { readCommandLine, UsageError } from "../../bench/command-line.ts";
import { SUITE_NAMES } from "../../bench/suites.ts";

describe("the benchmarks' command line", () => {
  test("the command line defaults to all suites", () => {
    expect(readCommandLine([])).toMatchObject({ kind: "measure", suites: SUITE_NAMES });
    expect(readCommandLine(["host", "--quick"])).toMatchObject({
      suites: ["host"],
      options: { isQuick: true, hasPeers: false, baseline: "ignore" },
    });
  });

  test("the command line writes tracked files only if it is asked to", () => {
    expect(readCommandLine(["host", "--out", "/tmp/x", "--plot"])).toMatchObject({
      options: { out: "/tmp/x", plots: true, writesDocs: false, baseline: "ignore" },
    });
    expect(readCommandLine(["--write-docs", "--write-baseline"])).toMatchObject({
      options: { out: undefined, plots: false, writesDocs: true, baseline: "write" },
    });
  });

  test("the command line runs a soak for a minute by default, and compares two reports", () => {
    expect(readCommandLine(["soak"])).toMatchObject({ kind: "soak", seconds: 60 });
    expect(readCommandLine(["compare", "a.json", "b.json"])).toEqual({
      kind: "compare",
      before: "a.json",
      after: "b.json",
    });
  });

  test.each([
    [["attic"], "unknown suite 'attic'"],
    [["compare", "a.json"], "compare requires two reports"],
    [["soak", "--seconds", "soon"], "--seconds must be a number of at least 1"],
    [["--fast"], "--fast"],
    [["host", "--plot"], "--plot requires --out FOLDER"],
  ])("refuses %j", (args, message) => {
    expect(() => readCommandLine(args)).toThrow(UsageError);
    expect(() => readCommandLine(args)).toThrow(message);
  });
});
