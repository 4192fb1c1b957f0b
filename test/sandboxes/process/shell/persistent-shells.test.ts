import { once } from "node:events";
import { existsSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { allow } from "../../../../src/policy/policy.ts";
import { reportProcess } from "../../../../src/sandboxes/process/process-report.ts";
import type { ProcessSandboxOptions } from "../../../../src/sandboxes/process/process-sandbox.ts";
import { openSessions } from "../../../../src/sessions/sessions.ts";
import type { ShellOptions } from "../../../../src/toolsets/shell-tools.ts";
import { ISOLATIONS } from "../availability.ts";
import { ShellScene } from "./shell-scene.ts";

const MIB = 1_024 * 1_024;
const NEW = "A new shell was started";
const ENDED = "The shell ended; the next command starts a new one";

const { memory } = (await reportProcess()).cgroups;
if ("reason" in memory) console.warn(`Tests of memoryBytes are skipped: ${memory.reason}`);

describe.each(ISOLATIONS)("The shell of a session (%s)", (isolation) => {
  async function openScene(sandbox: ProcessSandboxOptions = {}, options: ShellOptions = {}) {
    const scene = await ShellScene.open({ isolation, ...sandbox }, options);
    onTestFinished(() => scene[Symbol.asyncDispose]());
    return scene;
  }

  test("keeps directory, variables, aliases, functions and background processes", async () => {
    const scene = await openScene();
    mkdirSync(join(scene.workspace, "src"));
    const first = await scene.run(
      "cd src; x='a b'; export Y=1; alias hi='echo hello'; f() { echo \"f $1\"; }; sleep 1000 & echo open > note; exec 7< note",
    );
    expect(first.output).toEqual({
      exitCode: 0,
      signal: null,
      stdout: "",
      stderr: "",
      truncated: false,
      note: NEW,
    });
    const { output } = await scene.run(
      "basename $PWD; echo $x; env | grep ^Y; hi; f 2; kill %1 && echo killed; cat <&7; exit_code() { return 3; }; exit_code",
    );
    expect(output).toEqual({
      exitCode: 3,
      signal: null,
      stderr: "",
      truncated: false,
      stdout: "src\na b\nY=1\nhello\nf 2\nkilled\nopen\n",
    });
  });

  const MAKE =
    "(until [ -e go ]; do sleep 0.05; done; mkdir -p one/.git/hooks; echo bad > one/.git/hooks/pre-commit; touch made) &";

  /** Has a process in the background make a hook after its command. */
  async function makeHook(scene: ShellScene): Promise<string> {
    mkdirSync(join(scene.workspace, "one"));
    await scene.run(MAKE);
    writeFileSync(join(scene.workspace, "go"), "");
    await vi.waitFor(() => expect(existsSync(join(scene.workspace, "made"))).toBe(true), { timeout: 20_000 });
    return join(scene.workspace, "one/.git/hooks/pre-commit");
  }

  test.skipIf(isolation === "landlock")(
    "moves aside what its background processes make between commands",
    async () => {
      const scene = await openScene();
      const hook = await makeHook(scene);
      expect((await scene.run("true")).output).toMatchObject({ note: expect.stringContaining("one/.git") });
      expect(existsSync(hook)).toBe(false);
    },
  );

  test("reports what a command wrote whose directory was renamed meanwhile, and ends with what it left", async () => {
    const scene = await openScene();
    const moved = `${scene.workspace}-moved`;
    const go = "until [ -e go ]; do sleep 0.05; done";
    const running = scene.run(`${scene.sleep} & touch started; ${go}; echo done`);
    await vi.waitFor(() => expect(existsSync(join(scene.workspace, "started"))).toBe(true), {
      timeout: 20_000,
    });
    renameSync(scene.workspace, moved);
    try {
      writeFileSync(join(moved, "go"), "");
      expect((await running).output).toMatchObject({ exitCode: 0, stdout: "done\n" });
      await vi.waitFor(() => expect(scene.sleeping).toBe(0), { timeout: 20_000 });
    } finally {
      renameSync(moved, scene.workspace);
    }
    expect(await scene.stdout("ls")).toContain("started");
  });

  test("moves aside what its background processes have made when it ends", async () => {
    const scene = await openScene();
    const hook = await makeHook(scene);
    const warned = once(process, "warning");
    await scene.sandboxes.close();
    expect(String(await warned)).toContain("one/.git");
    expect(existsSync(hook)).toBe(false);
  });

  test.skipIf(isolation === "landlock")(
    "leaves alone what the user makes while nothing runs in it",
    async () => {
      const scene = await openScene();
      await scene.run("true");
      mkdirSync(join(scene.workspace, ".vscode"));
      const { output } = await scene.run("ls -A");
      expect(output).toMatchObject({ stdout: expect.stringContaining(".vscode") });
    },
  );

  test("is another one for each session, principal and command without it", async () => {
    const scene = await openScene();
    const look = 'set -- "$x"; echo "[$1]"; ls "$HOME"; pwd; type f 2>&1 | head -1';
    await scene.stdout('x=secret; echo secret > "$HOME/secret"; cd /; f() { :; }');
    const clean = await scene.stdout(look, { arguments: { persistent: false } });
    expect(clean).toMatch(/^\[\]\n\/(?!\n)[^\n]*\nbash: line 1: type: f: not found\n$/);
    for (const other of [
      { sessionId: "s2" },
      { principal: { id: "ada", kind: "user" } },
      { principal: { id: "ada", kind: "agent" } },
    ] as const) {
      const { output } = await scene.run(look, other);
      expect(output).toMatchObject({ note: NEW });
      expect((output as { stdout: string }).stdout).toMatch(
        /^\[\]\n\/(?!\n)[^\n]*\nbash: .* f: not found\n$/,
      );
    }
    expect(await scene.stdout("echo $x")).toBe("secret\n");
  });

  test("takes commands with quotes, line breaks, here-documents and syntax errors for what they are", async () => {
    const scene = await openScene();
    const text = "printf '%s|' 'a'\\''b' \"$(echo 1)\" '$&' '$`' \"\\\\\"\ncat <<'E'\n$HOME 'x'\nE\n# end";
    expect(await scene.stdout(text)).toBe("a'b|1|$&|$`|\\|$HOME 'x'\n");
    for (const wrong of ["echo 'a", "echo $((", "if true", "}", "cat <<E"]) await scene.run(wrong);
    expect(await scene.stdout("cat; echo alive")).toBe("alive\n");
  });

  test("puts back the outputs that a command redirected or closed", async () => {
    const scene = await openScene();
    await scene.run("exec >/dev/null 2>&1");
    await scene.run("exec >&- 2>&- <&-");
    expect((await scene.run("echo out; echo err >&2; cat")).output).toMatchObject({
      exitCode: 0,
      stdout: "out\n",
      stderr: "err\n",
    });
  });

  test("runs commands one after the other", async () => {
    const scene = await openScene();
    await scene.run("n=0");
    const outputs = await Promise.all(
      Array.from({ length: 5 }, () => scene.stdout("n=$((n+1)); echo begin $n; sleep 0.05; echo end $n")),
    );
    expect(outputs.sort()).toEqual([1, 2, 3, 4, 5].map((n) => `begin ${n}\nend ${n}\n`));
  });

  test("lets no command wait for its turn longer than it may take, or when it is cancelled", async () => {
    const scene = await openScene({}, { killGraceMs: 0 });
    const ending = new AbortController();
    const begun = Promise.withResolvers<void>();
    const long = scene.run(`echo begun; ${scene.sleep}`, {
      signal: ending.signal,
      onOutput: () => begun.resolve(),
    });
    await begun.promise;
    const late = await scene.run("echo late", { limits: { wallTimeMs: 100 } });
    expect(late.error).toMatchObject({ code: "timeout", effect: "none" });
    expect(late.error?.message).toContain("never began: it waited");
    const cancelling = new AbortController();
    const cancelled = scene.run("echo cancelled", { signal: cancelling.signal });
    cancelling.abort();
    expect((await cancelled).error).toMatchObject({ code: "cancelled", effect: "none" });
    ending.abort();
    expect((await long).error?.code).toBe("cancelled");
    expect(await scene.stdout("echo next")).toBe("next\n");
  });

  test.each([
    ["exits", "echo last; exit 3", 3, "last\n"],
    ["becomes another program", "echo last; exec sh -c 'cat; exit 4'", 4, "last\n"],
    ["kills it", "echo last; kill -9 $$", 137, "last\n"],
    ["has it exit at an error", "echo last; set -e; false", 1, "last\n"],
    [
      "closes its descriptors",
      'echo last; for i in {10..255}; do eval "exec $i>&-"; done; (exit 5)',
      5,
      "last\n",
    ],
  ])("ends with a command that %s", async (_name, command, exitCode, stdout) => {
    const scene = await openScene();
    await scene.run(`x=1; ${scene.sleep} &`);
    expect((await scene.run(command)).output).toMatchObject({ exitCode, stdout, note: ENDED });
    expect(scene.sleeping).toBe(0);
    expect((await scene.run("echo [$x]")).output).toMatchObject({ stdout: "[]\n", note: NEW });
  });

  test.skipIf("reason" in memory).each([
    ["exits", "echo last > file; exit 3", 3],
    ["kills it", "echo last > file; kill -9 $$", 137],
    ["ends it by an error", "echo last > file; set -u; echo $nothing", 1],
  ])(
    "whose memory is limited ends with a command that %s, and the command counts as run",
    async (_name, command, exitCode) => {
      const scene = await openScene();
      const limits = { memoryBytes: 100 * MIB };
      const { output, receipt } = await scene.run(command, { limits });
      expect(output).toMatchObject({ exitCode, note: `${NEW}. ${ENDED}` });
      expect(receipt.enforced.memoryBytes).toBe(100 * MIB);
      expect(receipt.used.memoryBytes).toBeGreaterThan(0);
      expect(await scene.stdout("cat file", { limits })).toBe("last\n");
    },
  );

  test.skipIf("reason" in memory)(
    "whose memory has run out ends, and the command may have changed something",
    async () => {
      const scene = await openScene();
      const limits = { memoryBytes: 40 * MIB };
      const hog = "echo last > file; x=$(head -c 200000000 /dev/zero | tr '\\0' x)";
      for (const kept of [false, true]) {
        if (kept) await scene.run("true", { limits });
        const { error } = await scene.run(hog, { limits });
        expect(error).toMatchObject({ code: "limit_exceeded", limit: "memoryBytes", effect: "unknown" });
      }
      expect((await scene.run("cat file", { limits })).output).toMatchObject({ stdout: "last\n", note: NEW });
    },
  );

  test("that ends between two commands is replaced", async () => {
    const scene = await openScene();
    await scene.run(`${scene.sleep} & x=1; (until [ -e go ]; do sleep 0.01; done; kill -9 $$) & true`);
    await vi.waitFor(() => expect(scene.sleeping).toBe(1), { timeout: 20_000 });
    await scene.run("touch go", { sessionId: "s2" });
    await vi.waitFor(() => expect(scene.sleeping).toBe(0), { timeout: 20_000 });
    // The end may be seen only when a command is run.
    const { output } = await scene.run("echo [$x]");
    if ((output as { note?: string }).note === ENDED)
      expect(output).toMatchObject({ exitCode: 137, stdout: "" });
    else expect(output).toMatchObject({ stdout: "[]\n", note: NEW });
    expect(await scene.stdout("echo [$x]")).toBe("[]\n");
  });

  test.each([
    ["has no descriptor left for it", "ulimit -n 5; true", 0],
    ["is restricted", "set -r; (exit 4)", 4],
    ["has lost the builtins for it", "enable -n builtin read printf; (exit 5)", 5],
  ])("ends, and no command waits, if it cannot write the end of one because it %s", async (_name, command, exitCode) => {
    const scene = await openScene();
    const { output } = await scene.run(command, { limits: { wallTimeMs: 15_000 } });
    expect(output).toMatchObject({ exitCode, note: `${NEW}. ${ENDED}` });
    expect((await scene.run("echo next")).output).toMatchObject({ stdout: "next\n", note: NEW });
  });

  test.each([
    ["does what it is asked", "", 5_000],
    ["ignores SIGTERM", "trap '' TERM; ", 100],
    ["handles SIGTERM", "trap 'echo no' TERM; ", 100],
  ])("ends with a command that %s, at its deadline and when it is cancelled", async (_name, trap, killGraceMs) => {
    const scene = await openScene({}, { killGraceMs });
    const command = `${trap}${scene.sleep} & echo begun; while :; do ${scene.sleep}; done`;
    await scene.run("x=1");
    const timedOut = await scene.run(command, { limits: { wallTimeMs: 3_000 } });
    expect(timedOut.error?.code).toBe("timeout");
    expect(timedOut.receipt.ended).toBe("confirmed");
    expect(timedOut.partialOutput).toMatch(/^begun\n/);
    expect(scene.sleeping).toBe(0);
    const cancelling = new AbortController();
    const { error } = await scene.run(command, {
      signal: cancelling.signal,
      onOutput: () => cancelling.abort(),
    });
    expect(error?.code).toBe("cancelled");
    expect(scene.sleeping).toBe(0);
    expect((await scene.run("echo next")).output).toMatchObject({ stdout: "next\n", note: NEW });
  });

  test("ends when it was idle for long enough", async () => {
    const scene = await openScene({ shellIdleMs: 1_500 });
    await scene.run(`${scene.sleep} & x=1`);
    // The shell forks it, and the command ends before it is there.
    await vi.waitFor(() => expect(scene.sleeping).toBe(1), { timeout: 20_000, interval: 5 });
    await vi.waitFor(() => expect(scene.sleeping).toBe(0), { timeout: 20_000 });
    expect((await scene.run("echo [$x]")).output).toMatchObject({ stdout: "[]\n", note: NEW });
  });

  test("ends with the sandbox, as a command of it does", async () => {
    const scene = await openScene();
    await scene.run(`${scene.sleep} &`);
    await scene.run(`setsid ${scene.sleep} >/dev/null 2>&1 &`, { sessionId: "s2" });
    const begun = Promise.withResolvers<void>();
    const running = scene.run(`echo begun; ${scene.sleep}`, {
      sessionId: "s3",
      onOutput: () => begun.resolve(),
    });
    await begun.promise;
    const waiting = scene.run("echo waiting", { sessionId: "s3" });
    await vi.waitFor(() => expect(scene.sleeping).toBe(3), { timeout: 20_000 });
    await scene.sandboxes.close();
    expect(scene.sleeping).toBe(0);
    expect((await running).error?.code).toBe("cancelled");
    expect((await waiting).error).toBeDefined();
  });

  test("ends when its session is closed, and no other one does", async () => {
    const scene = await openScene();
    const fs = [{ directory: scene.workspace, write: true }];
    const policy = { check: () => allow({ sandbox: "process", capabilities: { fs } }) } as const;
    const sessions = await openSessions({ registry: scene.registry, sandboxes: scene.sandboxes, policy });
    sessions.onConfirmation((event) => {
      const { digest, id } = event.confirmation;
      if (event.type === "requested") void sessions.answer(id, { digest, decision: "allow", by: "eve" });
    });
    const session = await sessions.open({ id: "closing" });
    const command = { command: `${scene.sleep} & x=1`, persistent: true };
    const result = await session.turn().dispatch({ id: "c1", name: "run_command", arguments: command });
    expect(result?.output).toMatchObject({ note: NEW });
    await scene.run(`${scene.sleep} & x=1`);
    await vi.waitFor(() => expect(scene.sleeping).toBe(2), { timeout: 20_000 });
    await session.close();
    await vi.waitFor(() => expect(scene.sleeping).toBe(1), { timeout: 20_000 });
    expect(await scene.stdout("echo $x")).toBe("1\n");
  });

  test.runIf(isolation === "namespaces")(
    "has no write access to places that are protected since it began",
    async () => {
      const scene = await openScene();
      await scene.run("x=1");
      for (const name of ["hooks", "objects", "refs"])
        mkdirSync(join(scene.workspace, ".git", name), { recursive: true });
      writeFileSync(join(scene.workspace, ".git/HEAD"), "ref: refs/heads/main");
      const { output } = await scene.run("echo [$x]; touch .git/hooks/pre-commit");
      expect(output).toMatchObject({ exitCode: 1, stdout: "[]\n", note: NEW });
    },
  );

  test("serves no call with another grant, nor with other limits on its processes", async () => {
    const scene = await openScene();
    const fs = [{ directory: scene.workspace }];
    await scene.run("x=1");
    expect((await scene.run("echo [$x]; touch a", { capabilities: { fs } })).output).toMatchObject({
      exitCode: 1,
      stdout: "[]\n",
      note: NEW,
    });
    await scene.run("x=2", { capabilities: { fs } });
    expect(await scene.stdout("echo $x", { capabilities: { fs }, limits: { wallTimeMs: 9_000 } })).toBe(
      "2\n",
    );
    const limits = { processMemoryBytes: 4 * 2 ** 30 };
    expect((await scene.run("echo [$x]", { capabilities: { fs }, limits })).output).toMatchObject({
      stdout: "[]\n",
      note: NEW,
    });
    // Nor one that has another value of a granted variable.
    const withVariable = { fs, env: ["KEPT_SHELL_TEST"] };
    onTestFinished(() => void vi.unstubAllEnvs());
    vi.stubEnv("KEPT_SHELL_TEST", "old");
    expect(await scene.stdout("echo $KEPT_SHELL_TEST", { capabilities: withVariable })).toBe("old\n");
    vi.stubEnv("KEPT_SHELL_TEST", "new");
    expect(await scene.stdout("echo $KEPT_SHELL_TEST", { capabilities: withVariable })).toBe("new\n");
  });

  test("refuses a directory for a command, which would not be the shell's", async () => {
    const scene = await openScene();
    expect((await scene.run("pwd", { arguments: { cwd: "src" } })).error).toMatchObject({
      code: "validation_error",
      message: expect.stringContaining("use cd"),
      effect: "none",
    });
  });

  test("is the one that was idle for longest that ends, if a principal has four", async () => {
    const scene = await openScene();
    const principal = { id: "ada", kind: "user" } as const;
    const as = (n: number) => ({ sessionId: `s${n}`, principal });
    for (let n = 0; n < 4; n++) await scene.run(`x=${n}; ${scene.sleep} &`, as(n));
    await scene.run("x=0", as(0));
    await scene.run("x=4", { sessionId: "s4" });
    await vi.waitFor(() => expect(scene.sleeping).toBe(4), { timeout: 20_000 });
    await scene.run("x=4", as(4));
    await vi.waitFor(() => expect(scene.sleeping).toBe(3), { timeout: 20_000 });
    expect(await scene.stdout("echo $x", as(0))).toBe("0\n");
    expect(await scene.stdout("echo $x", as(2))).toBe("2\n");
    expect((await scene.run("echo [$x]", as(1))).output).toMatchObject({ stdout: "[]\n", note: NEW });
  });

  test("is refused while all that a principal may have run commands", async () => {
    const scene = await openScene({}, { killGraceMs: 0 });
    const principal = { id: "ada", kind: "user" } as const;
    const running = Array.from({ length: 4 }, (_, n) => {
      const begun = Promise.withResolvers<void>();
      const ending = new AbortController();
      const options = {
        sessionId: `s${n}`,
        principal,
        signal: ending.signal,
        onOutput: () => begun.resolve(),
      };
      const ended = scene.run(`echo begun; ${scene.sleep}`, options);
      return { begun: begun.promise, ended, ending };
    });
    await Promise.all(running.map(({ begun }) => begun));
    expect((await scene.run("echo", { sessionId: "s4", principal })).error).toMatchObject({
      message: expect.stringMatching(/^Too many persistent shells run commands now/),
      effect: "none",
    });
    for (const { ending } of running) ending.abort();
    await Promise.all(running.map(({ ended }) => ended));
    expect(await scene.stdout("echo next", { sessionId: "s4", principal })).toBe("next\n");
  });
});
