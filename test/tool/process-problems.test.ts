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
    { output: "completion", keptShell: { when: { argument: "/keep" }, command: { argument: "/command" } } },
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
    ["keptShell", true],
    ["keptShell", { when: { argument: "/keep" } }],
    ["keptShell", { when: true, command: { argument: "/command" } }],
    ["killGraceMs", -1],
    ["killGraceMs", 60_001],
    ["killGraceMs", 0.5],
  ])("cannot have a %s of %j", (member, value) => {
    expect(processProblem({ command: "cat", output: "completion", [member]: value })).toMatch(
      new RegExp(`^process\\.${member} must be `),
    );
  });

  test("fails a call for its exit code, and has a kept shell, only with a completion", () => {
    expect(processProblem({ command: "cat", failOnExit: false })).toMatch(/needs output: "completion"/);
    const keptShell = { when: { argument: "/keep" }, command: { argument: "/command" } };
    expect(processProblem({ command: "cat", keptShell })).toMatch(/needs output: "completion"/);
    expect(processProblem("cat")).toBe("process must be an object");
  });
});
