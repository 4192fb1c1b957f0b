import { describe, expect, test } from "vitest";
import { processProblem } from "../../src/tool/implementations/process-implementation.ts";

describe("A program", () => {
  test.each([
    {},
    { args: ["-n", { argument: "/path" }, { argument: "" }] },
    { args: () => [] },
    { input: { argument: "/text" } },
    { input: () => "" },
    { output: "completion", failOnExit: true },
    { env: { _A1: "x", PATH: "" } },
    { cwd: "src" },
    {
      output: "completion",
      persistentShell: { when: { argument: "/keep" }, command: { argument: "/command" } },
    },
    { killGraceMs: 0 },
    { killGraceMs: 60_000 },
  ])("can be declared with %j", (more) => {
    expect(processProblem({ command: "cat", ...more })).toBeUndefined();
  });

  test.each([
    ["command", ""],
    ["command", "a\0b"],
    ["args", "-n"],
    ["args", ["a\0b"]],
    ["args", ["\ud800"]],
    ["args", [1]],
    ["args", [{ argument: "path" }]],
    ["args", [{ argument: "/path", access: "read" }]],
    ["input", "text"],
    ["input", {}],
    ["output", "lines"],
    ["failOnExit", 1],
    ["env", ["A"]],
    ["env", { "A=B": "x" }],
    ["env", { A: "x\0" }],
    ["env", { A: 1 }],
    ["cwd", ""],
    ["cwd", () => "src"],
    ["persistentShell", true],
    ["persistentShell", { when: { argument: "/keep" } }],
    ["persistentShell", { when: true, command: { argument: "/command" } }],
    ["killGraceMs", -1],
    ["killGraceMs", 60_001],
    ["killGraceMs", 0.5],
  ])("cannot have a %s of %j", (member, value) => {
    expect(processProblem({ command: "cat", output: "completion", [member]: value })).toMatch(
      new RegExp(`^process\\.${member} must be `),
    );
  });

  test("fails a call for its exit code, and has a persistent shell, only with a completion", () => {
    expect(processProblem({ command: "cat", failOnExit: false })).toMatch(/needs output: "completion"/);
    const persistentShell = { when: { argument: "/keep" }, command: { argument: "/command" } };
    expect(processProblem({ command: "cat", persistentShell })).toMatch(/needs output: "completion"/);
    expect(processProblem("cat")).toBe("process must be an object");
  });

  test("has its persistent shell under no other name", () => {
    expect(processProblem({ command: "cat", output: "completion", keptShell: () => undefined })).toBe(
      "process.keptShell is unknown: write 'persistentShell'",
    );
  });
});
