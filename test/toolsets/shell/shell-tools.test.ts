import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { JsonObject } from "../../../src/json/value.ts";
import type { ShellOptions } from "../../../src/toolsets/shell-tools.ts";
import { unavailable } from "../../sandboxes/process/availability.ts";
import { ToolsetScene } from "../toolset-scene.ts";

async function openShell(options: ShellOptions = {}) {
  const scene = await ToolsetScene.open("shell", {}, options);
  onTestFinished(() => scene[Symbol.asyncDispose]());
  return {
    path: (name: string): string => join(scene.workspace, name),
    call: (name: string, args: JsonObject = {}) => scene.call(name, args),
  };
}

describe.skipIf(unavailable)("run_command", () => {
  test("runs a command of bash in the workspace, and returns what it wrote", async () => {
    const { path, call } = await openShell();
    writeFileSync(path("a.txt"), "1\n2\n");
    const { output } = await call("run_command", {
      command: "wc -l < a.txt; pwd; echo no >&2; exit 3",
    });
    expect(output).toEqual({
      exitCode: 3,
      signal: null,
      stdout: "2\n/workspace\n",
      stderr: "no\n",
      truncated: false,
    });
  });

  test("takes a command that begins with a dash, and quotes, for what they are", async () => {
    const { call } = await openShell();
    const { output } = await call("run_command", {
      command: "-c 2>/dev/null; printf '%s' \"a'b\" '$HOME' \"\\$&\"",
    });
    expect(output).toMatchObject({ stdout: "a'b$HOME$&" });
  });

  test("begins in a directory of the workspace, and not outside it", async () => {
    const { path, call } = await openShell();
    mkdirSync(path("src"));
    expect((await call("run_command", { command: "pwd", cwd: "src" })).output).toMatchObject({
      stdout: "/workspace/src\n",
    });
    expect((await call("run_command", { command: "pwd", cwd: ".." })).error).toMatchObject({
      code: "permission_denied",
      message: "Path escapes workspace boundary",
    });
  });

  test("says to the model that the configuration of git is protected, and what to do", async () => {
    const { path, call } = await openShell();
    execFileSync("git", ["init", "-q", path("")]);
    const { modelText } = await call("run_command", { command: "git config user.name Ann" });
    expect(modelText).toContain("The configuration of git is protected");
  });

  test("gets only the variables that are configured", async () => {
    const { call } = await openShell({ env: { COLOR: "blue" } });
    const { output } = await call("run_command", { command: "env | cut -d= -f1 | sort" });
    const names = String((output as JsonObject)["stdout"])
      .trim()
      .split("\n");
    expect(names).toEqual(expect.arrayContaining(["COLOR", "HOME", "PATH"]));
    expect(
      names.filter(
        (name) => !/^(COLOR|.*(RETRY|RETRIES|retries)|HOME|LANG|PATH|PWD|OLDPWD|SHLVL|_)$/.test(name),
      ),
    ).toEqual([]);
  });

  test.each([
    {},
    { persistent: true },
  ])("has the files that a command changed in its execution, with %j", async (more) => {
    const { path, call } = await openShell();
    writeFileSync(path("a.txt"), "1");
    writeFileSync(path("old.txt"), "1");
    const command = "echo 22 > a.txt; rm old.txt; mkdir sub; echo new > sub/b.txt; exit 1";
    const { changes } = await call("run_command", { command, ...more });
    expect(changes?.files.toSorted((a, b) => a.path.localeCompare(b.path))).toEqual([
      { path: "a.txt", change: "modified", bytes: 3 },
      { path: "old.txt", change: "deleted", bytes: 0 },
      { path: "sub/b.txt", change: "created", bytes: 4 },
    ]);
    expect(changes?.command).toContain(command);
    expect((await call("run_command", { command: "true", ...more })).changes?.files).toEqual([]);
  });

  test("fails for another exit code than 0 if that is configured", async () => {
    const { call } = await openShell({ failOnExit: true });
    expect((await call("run_command", { command: "echo cannot >&2; exit 1" })).error).toMatchObject({
      code: "execution_error",
      message: "cannot",
    });
  });
});

describe.skipIf(unavailable)("run_tests", () => {
  test("runs the configured command with further arguments, which no shell interprets", async () => {
    const { call } = await openShell({ testCommand: "printf '<%s>'" });
    const { output } = await call("run_tests", { args: ["a b", "$(touch pwned)", "--watch"] });
    expect(output).toMatchObject({ exitCode: 0, stdout: "<a b><$(touch pwned)><--watch>" });
  });

  test("finds the tests by the files of the project", async () => {
    const { path, call } = await openShell();
    writeFileSync(path("Makefile"), "test:\n\t@echo tested > done.txt\n");
    const { output } = await call("run_tests");
    // Whether make is installed or not, it is what was run.
    if ((output as JsonObject)["exitCode"] === 0)
      expect(readFileSync(path("done.txt"), "utf8")).toBe("tested\n");
    else
      expect(output).toMatchObject({
        exitCode: 127,
        stderr: expect.stringContaining("make: command not found"),
      });
  });

  test("says what to do in a project whose tests it does not know", async () => {
    const { call } = await openShell();
    expect((await call("run_tests")).output).toMatchObject({
      exitCode: 127,
      stderr: expect.stringContaining("Run the tests with run_command."),
    });
  });

  test("says that pytest is not installed, in place of what Python says of modules", async () => {
    const { call, path } = await openShell();
    writeFileSync(path("setup.py"), "");
    writeFileSync(path("pytest.py"), "raise ImportError");
    expect((await call("run_tests")).output).toMatchObject({
      exitCode: 127,
      stderr: expect.stringContaining(
        "pytest, which runs the tests of Python projects, is not installed here",
      ),
    });
  });
});
