import { expect, test } from "vitest";
import { parseCommandLine } from "../../src/cli/command-line.ts";
import { UsageError } from "../../src/cli/errors.ts";

test("parses dispatch with its defaults", () => {
  expect(parseCommandLine(["dispatch", "--config", "c.yaml"])).toEqual({
    name: "dispatch",
    file: "-",
    config: "c.yaml",
    format: "auto",
    output: "table",
    events: false,
    confirm: false,
    dryRun: false,
  });
});

test("parses dispatch with all options, in any order", () => {
  const argv = ["dispatch", "--format=openai", "m.json", "--output", "json", "--events", "-c", "c.yaml"];
  expect(parseCommandLine(argv)).toEqual({
    name: "dispatch",
    file: "m.json",
    config: "c.yaml",
    format: "openai",
    output: "json",
    events: true,
    confirm: false,
    dryRun: false,
  });
});

test("accepts - for standard input", () => {
  expect(parseCommandLine(["dispatch", "-", "--config", "c.yaml"])).toMatchObject({ file: "-" });
});

test("parses check, help and version", () => {
  expect(parseCommandLine(["check", "--config", "c.yaml"])).toEqual({ name: "check", config: "c.yaml" });
  expect(parseCommandLine(["--help"])).toEqual({ name: "help" });
  expect(parseCommandLine(["check", "-h"])).toEqual({ name: "help" });
  expect(parseCommandLine(["dispatch", "--help"])).toEqual({ name: "help" });
  expect(parseCommandLine(["tool", "--help"])).toEqual({ name: "help" });
  expect(parseCommandLine(["--version"])).toEqual({ name: "version" });
});

test.each([
  [[], "the command is missing"],
  [["run"], "unknown command 'run'"],
  [["--verbose"], "Unknown option '--verbose'"],
  [["dispatch"], "--config is missing"],
  [["check"], "--config is missing"],
  [["dispatch", "--config"], "argument missing"],
  [["dispatch", "a", "b", "--config", "c"], "unexpected argument 'b'"],
  [["check", "a", "--config", "c"], "unexpected argument 'a'"],
  [["check", "--config", "c", "--format", "native"], "Unknown option '--format'"],
  [
    ["dispatch", "--config", "c", "--format", "gemini"],
    "--format must be one of auto, native, openai, openai-responses, anthropic, ai-sdk",
  ],
  [["dispatch", "--config", "c", "--output", "xml"], "--output must be one of table, json, messages"],
])("refuses %j", (argv, message) => {
  expect(() => parseCommandLine(argv)).toThrow(UsageError);
  expect(() => parseCommandLine(argv)).toThrow(message);
});
