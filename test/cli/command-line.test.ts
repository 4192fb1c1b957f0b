import { describe, expect, test } from "vitest";
import { COMMANDS, type CommandLine, commandHelp, parseCommandLine } from "../../src/cli/run.ts";
import { sandgate } from "./sandgate.ts";

const parseLine = (argv: readonly string[]): CommandLine => parseCommandLine(argv, COMMANDS);

const DISPATCH = {
  file: "-",
  config: "c.yaml",
  format: "auto",
  output: "table",
  events: false,
  confirm: false,
  dryRun: false,
};

test("parses dispatch with its defaults", () => {
  expect(parseLine(["dispatch", "--config", "c.yaml"])).toMatchObject({ name: "dispatch", given: DISPATCH });
});

test("parses dispatch with all options, in any order", () => {
  const argv = ["dispatch", "--format=openai", "m.json", "--output", "json", "--events", "-c", "c.yaml"];
  const given = { ...DISPATCH, file: "m.json", format: "openai", output: "json", events: true };
  expect(parseLine(argv)).toMatchObject({ name: "dispatch", given });
});

test("accepts - for standard input", () => {
  expect(parseLine(["dispatch", "-", "--config", "c.yaml"])).toMatchObject({ given: { file: "-" } });
});

test("leaves everything after -- to the agent of supervise", () => {
  expect(parseLine(["supervise", "-e", "A", "--env", "B", "--", "agent", "--help", "--", "x"])).toMatchObject(
    {
      given: { config: undefined, env: ["A", "B"], command: ["agent", "--help", "--", "x"] },
    },
  );
  expect(() => parseLine(["supervise", "agent"])).toThrow("unexpected argument 'agent'");
  expect(() => parseLine(["supervise"])).toThrow("PROGRAM is missing");
});

test("parses help and version, of which there are two forms", () => {
  for (const argv of [["--help"], ["-h"], ["help"]])
    expect(parseLine(argv)).toEqual({ name: "help", about: undefined });
  for (const argv of [
    ["check", "-h"],
    ["help", "check"],
  ])
    expect(parseLine(argv)).toEqual({ name: "help", about: "check" });
  for (const argv of [
    ["tool", "run", "--help"],
    ["help", "tool", "run"],
  ])
    expect(parseLine(argv)).toEqual({ name: "help", about: "tool run" });
  for (const argv of [
    ["tool", "--help"],
    ["help", "tool"],
  ])
    expect(parseLine(argv)).toEqual({ name: "help", about: "tool" });
  for (const argv of [["--version"], ["-v"], ["version"]])
    expect(parseLine(argv)).toEqual({ name: "version" });
});

describe("the help", () => {
  test.each(
    COMMANDS.map((command) => [command.name, command] as const),
  )("of %s has its usage, each argument and option, its exit codes, and no other command's", async (name, command) => {
    const { code, stdout, stderr } = await sandgate([...name.split(" "), "--help"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toBe(`${commandHelp(command)}\n`);
    expect(stdout).toMatch(new RegExp(`^Usage: sandgate ${name} ?`));
    expect(stdout.split("Usage:")).toHaveLength(2);
    for (const word of Object.keys(command.arguments)) expect(stdout).toContain(`\n  ${word}`);
    for (const option of [...Object.keys(command.options), "help"]) expect(stdout).toMatch(`--${option}`);
    for (const exitCode of ["0", "2", "130", ...Object.keys(command.exitCodes ?? {})])
      expect(stdout).toMatch(new RegExp(`^ {2}${exitCode} `, "m"));
    expect(Math.max(...stdout.split("\n").map((line) => line.length))).toBeLessThanOrEqual(90);
  });

  test("of the program lists every command, and that of a group lists the commands of the group", async () => {
    const all = (await sandgate(["--help"])).stdout;
    for (const { name, summary } of COMMANDS) {
      expect(all).toContain(`\n  ${name} `);
      expect(all.replaceAll(/\s+/g, " ")).toContain(summary);
    }
    const group = (await sandgate(["policy", "--help"])).stdout;
    expect(Array.from(group.matchAll(/^ {2}(policy \w+)/gm), ([, name]) => name)).toEqual(
      COMMANDS.flatMap(({ name }) => (name.startsWith("policy ") ? [name] : [])),
    );
    expect(group).not.toContain("tool run");
  });
});

test.each([
  [["chekc"], "unknown command 'chekc': did you mean 'check'? See sandgate --help"],
  [["--hepl"], "unknown option '--hepl': did you mean '--help'? See sandgate --help"],
  [["xyzzy"], "unknown command 'xyzzy'. See sandgate --help"],
  [["tool", "rnu", "a.js"], "not 'rnu': did you mean 'run'? See sandgate --help"],
  [
    ["check", "--confgi", "c"],
    "unknown option '--confgi': did you mean '--config'? See sandgate check --help",
  ],
  [
    ["tool", "run", "a.js", "--inputs", "{}"],
    "'--inputs': did you mean '--input'? See sandgate tool run --help",
  ],
  [
    ["dispatch", "-c", "c", "--output", "jsno"],
    "not 'jsno': did you mean 'json'? See sandgate dispatch --help",
  ],
])("suggests what was meant by %j", async (argv, message) => {
  const { code, stdout, stderr } = await sandgate(argv);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toContain(message);
});

test.each([
  [[], "the command is missing"],
  [["walk"], "unknown command 'walk'"],
  [["--verbose"], "unknown option '--verbose'"],
  [["serve"], "--config sandgate.yaml is missing: the config, with the tools, the policy and the sandboxes"],
  [["mcp", "serve"], "--config sandgate.yaml is missing"],
  [["dispatch", "--config"], "argument missing"],
  [["dispatch", "-c", "c", "--confirm", "--dry-run"], "--confirm and --dry-run cannot be used together"],
  [["version", "a"], "unexpected argument 'a'"],
  [["why", "id", "--directory", "d", "--config", "c"], "--directory and --config cannot be used together"],
  [["dispatch", "a", "b", "--config", "c"], "unexpected argument 'b'"],
  [["check", "a", "--config", "c"], "unexpected argument 'a'"],
  [["check", "--config", "c", "--format", "native"], "unknown option '--format'"],
  [
    ["dispatch", "--config", "c", "--format", "gemini"],
    "--format must be one of auto, native, openai, openai-responses, anthropic, ai-sdk",
  ],
  [["dispatch", "--config", "c", "--output", "xml"], "--output must be one of table, json, messages"],
])("refuses %j", (argv, message) => {
  expect(() => parseLine(argv)).toThrow(expect.objectContaining({ name: "UsageError" }));
  expect(() => parseLine(argv)).toThrow(message);
});
