import { describe, expect, onTestFinished, test, vi } from "vitest";
import { toToolResult } from "../../../src/engine/call/messages.ts";
import type { JsonObject } from "../../../src/json/value.ts";
import { contentText } from "../../../src/tool/content.ts";
import { ISOLATIONS } from "../../sandboxes/process/availability.ts";
import { ToolsetScene, withIsolation } from "../toolset-scene.ts";

/** Waits for what other processes do, also on a busy machine. */
const SOON = { timeout: 30_000, interval: 200 };

describe.each(ISOLATIONS)("A command in the background (%s)", (isolation) => {
  async function open() {
    const scene = await ToolsetScene.open("shell", {}, { prefix: "my_" }, withIsolation(isolation));
    onTestFinished(() => scene[Symbol.asyncDispose]());
    return async (args: JsonObject): Promise<string> =>
      contentText(toToolResult(await scene.call("my_run_command", args)).content);
  }

  /** The commands of which a result says that they read the output and end the program. */
  function commandsIn(text: string): readonly [read: string, end: string] {
    const [read = "", end = ""] = [
      ...text.matchAll(/^To .* my_run_command with .* the command: (.*)$/gm),
    ].map(([, command = ""]) => command);
    return [read, end];
  }

  test("goes on after its call, which says how to read what it writes and how to end it", async () => {
    const run = await open();
    const started = await run({
      command:
        "echo listening; it='s'; (trap 'echo ended; exit' TERM; while :; do sleep 0.1; done); echo not reached",
      background: true,
    });
    expect(started).toMatch(/^The command runs in the background\./);
    expect(started).toContain("Exit code: 0");
    const [read, end] = commandsIn(started);
    await vi.waitFor(
      async () => expect(await run({ command: read, persistent: true })).toMatch(/^listening\n/),
      SOON,
    );
    await run({ command: end, persistent: true });
    await vi.waitFor(
      async () => expect(await run({ command: read, persistent: true })).toContain("ended"),
      SOON,
    );
    expect(await run({ command: `${end}; echo code $?`, persistent: true })).toContain("code 1");
  });

  test("leaves the shell of the session as it is, and begins as that is", async () => {
    const run = await open();
    await run({ command: "mkdir sub; cd sub; x=1; f() { echo function $x; }", persistent: true });
    const started = await run({ command: "f; pwd; x=2", background: true });
    expect(started).toContain("function 1");
    expect(await run({ command: 'echo "$x $(basename "$PWD") $-"', persistent: true })).toMatch(
      /^1 sub [^m]*\n/,
    );
  });

  test("that ends at once has its output and its exit code", async () => {
    const run = await open();
    const text = await run({ command: "echo no such server >&2; exit 3", background: true });
    // On a busy machine, it may still run when the call ends.
    const shown = text.startsWith("The command has ended") ? text : undefined;
    await vi.waitFor(async () => {
      const said = shown ?? (await run({ command: commandsIn(text)[0], persistent: true }));
      expect(said).toContain("no such server\n\n[The command ended with the exit code 3]");
    }, SOON);
  });

  test("is refused with a directory, which the shell of the session has", async () => {
    const run = await open();
    expect(await run({ command: "pwd", cwd: "sub", background: true })).toContain(
      "The argument /cwd must be left out for the shell of a session",
    );
  });

  test("ends with its session", async () => {
    const scene = await ToolsetScene.open("shell", {}, {}, withIsolation(isolation));
    onTestFinished(() => scene[Symbol.asyncDispose]());
    await scene.call("run_command", {
      command: "while :; do date +%s%N > alive; sleep 0.1; done",
      background: true,
    });
    const alive = async (): Promise<string> =>
      JSON.stringify((await scene.call("run_command", { command: "cat alive; sleep 1; cat alive" })).output);
    expect(await alive()).toContain("exitCode");
    scene.sandboxes.endSession("session");
    await vi.waitFor(async () => {
      const [, first, second] = /"stdout":"(\d+)\\n(\d+)\\n"/.exec(await alive()) ?? [];
      expect([first, first]).toEqual([first, second]);
    }, SOON);
  });
});

describe.each(ISOLATIONS)("A command with a timeout (%s)", (isolation) => {
  test.each([{}, { persistent: true }])("is ended then, with what it wrote, %j", async (more) => {
    const scene = await ToolsetScene.open("shell", {}, { killGraceMs: 500 }, withIsolation(isolation));
    onTestFinished(() => scene[Symbol.asyncDispose]());
    const command = "echo begun; while :; do :; done";
    const { error, output } = await scene.call("run_command", { command, timeout: 5_000, ...more });
    expect(error).toBeUndefined();
    expect(output).toMatchObject({
      stdout: "begun\n",
      note: expect.stringContaining("The program was ended after its timeout of 5s: give it a longer one"),
    });
  });

  test("has no more time than its grant", async () => {
    const limits = { wallTimeMs: 1_000 };
    const scene = await ToolsetScene.open(
      "shell",
      { limits },
      { killGraceMs: 500 },
      withIsolation(isolation),
    );
    onTestFinished(() => scene[Symbol.asyncDispose]());
    const { error } = await scene.call("run_command", { command: "sleep 1000", timeout: 60_000 });
    expect(error?.code).toBe("timeout");
  });
});
