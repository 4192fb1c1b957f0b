import { existsSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import { openSandboxes, type Sandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import type { ProcessImplementation } from "../../../src/tool/implementations/process-implementation.ts";
import { ISOLATIONS } from "./availability.ts";
import { runProgram } from "./run-program.ts";
import { ShellScene } from "./shell/shell-scene.ts";

const IDLE_MS = 1_500;

const HAS_PYTHON = existsSync("/usr/bin/python3");
if (!HAS_PYTHON)
  console.warn("A test of a program that waits for a disk is skipped: it needs /usr/bin/python3");

describe.each(ISOLATIONS)("An idle program (%s)", (isolation) => {
  let sandboxes: Sandboxes;

  beforeAll(async () => {
    sandboxes = await openSandboxes({ process: { isolation, idleMs: IDLE_MS } });
  });

  afterAll(() => sandboxes.close());

  const run = (script: string, program: Partial<ProcessImplementation> = {}): Promise<ToolExecution> =>
    runProgram(sandboxes, {
      program: {
        command: "bash",
        args: ["-c", script],
        input: "none",
        output: "completion",
        killGraceMs: 500,
        ...program,
      } as ProcessImplementation,
      limits: { wallTimeMs: 40_000 },
    });

  test.each([
    ["that waits for time", "echo begun; echo before >&2; sleep 1000", 143],
    ["that waits for a child", "echo begun; echo before >&2; sleep 1000 & wait", 143],
    ["that reads what never comes", "echo begun; echo before >&2; cd $HOME; mkfifo x; cat <> x", 143],
    ["that ignores SIGTERM", "trap '' TERM; echo begun; echo before >&2; sleep 1000 & wait; wait; wait", 137],
  ])("is ended, with what it wrote and a text: one %s", async (_, script, exitCode) => {
    const { output, error } = await run(script);
    expect(error).toBeUndefined();
    expect(output).toMatchObject({
      exitCode,
      stdout: "begun\n",
      stderr: expect.stringContaining("before\n"),
      note: expect.stringMatching(/^The program was ended: for 1\.5s it wrote nothing and used no CPU time/),
    });
  });

  test("fails a call whose output is no completion, with the same text", async () => {
    for (const output of ["text", "json"] as const) {
      const { error } = await run("echo '{}'; echo why >&2; sleep 1000", { output });
      expect(error).toMatchObject({ code: "execution_error" });
      expect(error?.message).toMatch(/^why\nThe program was ended: for 1\.5s/);
    }
    const { error } = await run("sleep 1000", { failOnExit: true });
    expect(error?.message).toMatch(/The program was ended: for 1\.5s/);
  });

  test.each([
    [
      "uses CPU time",
      "for ((i = 0; i < 10; i++)); do timeout 0.1 bash -c 'while :; do :; done'; sleep 0.4; done; echo done",
    ],
    ["has a child that uses CPU time", "timeout 5 bash -c 'while :; do :; done' & wait; echo done"],
    [
      "has a child of a child in another session that does",
      "(setsid timeout 5 sh -c 'while :; do :; done' &); sleep 5; echo done",
    ],
    ["writes now and then", "for ((i = 0; i < 12; i++)); do sleep 0.4; echo $i >&2; done; echo done"],
    ["starts other programs now and then", "for ((i = 0; i < 12; i++)); do sleep 0.4; done; echo done"],
  ])("is none that %s", async (_, script) => {
    const { output, error } = await run(script);
    expect(error).toBeUndefined();
    expect(output).toMatchObject({ exitCode: 0, stdout: "done\n" });
    expect(output).not.toHaveProperty("note");
  });

  test.skipIf(!HAS_PYTHON)("is none that waits in the kernel, as for a slow disk", async () => {
    // Here for a child that uses its memory, until that has opened a file.
    const spawn =
      'os.posix_spawn("/bin/true", ["true"], {}, file_actions=[(os.POSIX_SPAWN_OPEN, 0, "x", 0, 0)])';
    const python = `python3 -c 'import os; ${spawn}'`;
    const { output, error } = await run(`cd $HOME; mkfifo x; ${python} & sleep 5; : > x; wait; echo done`);
    expect(error).toBeUndefined();
    expect(output).toMatchObject({ exitCode: 0, stdout: "done\n" });
    expect(output).not.toHaveProperty("note");
  });

  test("has the time that its tool gives it, or the arguments of its call", async () => {
    expect((await run("sleep 4; echo done", { idleMs: 30_000 })).output).toMatchObject({ stdout: "done\n" });
    expect((await run("sleep 4; echo done", { idleMs: () => 30_000 })).output).toMatchObject({
      stdout: "done\n",
    });
    expect((await run("sleep 1000", { idleMs: 100 })).output).toMatchObject({
      note: expect.stringContaining("for 100ms"),
    });
    expect((await run("sleep 1000", { idleMs: () => undefined })).output).toMatchObject({
      note: expect.stringContaining("for 1.5s"),
    });
    expect((await run("echo ran", { idleMs: () => 1 })).error?.message).toMatch(
      /process.idleMs did not return an integer/,
    );
  });

  test("is ended in a persistent shell, and with it the shell", async () => {
    await using scene = await ShellScene.open({ isolation }, { idleMs: IDLE_MS, killGraceMs: 500 });
    const capabilities = {};
    expect(await scene.stdout("x=1; echo $x", { capabilities })).toBe("1\n");
    expect(await scene.stdout("echo [$x]", { capabilities })).toBe("[1]\n");
    const waiting = scene.run("echo [$x] waits; cat <(sleep 1000)", { capabilities });
    expect((await waiting).output).toMatchObject({
      stdout: "[1] waits\n",
      note: expect.stringMatching(
        /^The program was ended: for 1\.5s .*The shell ended; the next command starts a new one/,
      ),
    });
    expect(await scene.stdout("echo [$x]", { capabilities })).toBe("[]\n");
    const idle = { capabilities, arguments: { idle: 20_000 } };
    expect(await scene.stdout("sleep 4; echo done", idle)).toBe("done\n");
  });
});
