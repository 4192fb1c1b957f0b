import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { FsGrant } from "../../../src/policy/grant/fs-grant.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
// Inside: sees which sandbox was taken, and that no other was made; a call runs in either.
import { Bubblewrap } from "../../../src/sandboxes/process/namespaces/bubblewrap.ts";
import { GrantedMounts } from "../../../src/sandboxes/process/namespaces/granted-mounts.ts";
import { type PreparedSandbox, SandboxPool } from "../../../src/sandboxes/process/namespaces/sandbox-pool.ts";
import { unavailable } from "./availability.ts";
import { runProgram } from "./run-program.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "process-sandboxs-")));
afterAll(() => rmSync(root, { recursive: true }));

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(root, "case-"));
});

/** A pool whose sandboxes are counted. */
async function openPool() {
  const bubblewrap = await Bubblewrap.open();
  const made: PreparedSandbox[] = [];
  const pool = new SandboxPool((mounts) => {
    const sandbox = bubblewrap.makeSandbox(mounts);
    made.push(sandbox);
    return sandbox;
  });
  onTestFinished(async () => {
    await pool.close();
    await bubblewrap[Symbol.asyncDispose]();
  });
  /** Prepares a sandbox, and waits until it is there. */
  const prepare = async (grants: readonly FsGrant[]): Promise<PreparedSandbox> => {
    const before = made.length;
    void pool.prepare(grants, {});
    await vi.waitUntil(() => made.length > before);
    return made.at(-1) as PreparedSandbox;
  };
  const take = async (grants: readonly FsGrant[]): Promise<PreparedSandbox> => {
    using mounts = await GrantedMounts.open(grants, {});
    const sandbox = pool.take(mounts);
    onTestFinished(() => sandbox.discard());
    return sandbox;
  };
  return { pool, made, prepare, take };
}

describe.skipIf(unavailable)("A sandbox that waits", () => {
  test("is taken once, by a call with the same directories", async () => {
    const { prepare, take } = await openPool();
    mkdirSync(join(folder, "other"));
    const grants = [{ directory: folder, write: true }];
    const waiting = await prepare(grants);
    for (const others of [
      [],
      [{ directory: folder }],
      [{ directory: folder, write: true, at: "/other" }],
      [{ directory: join(folder, "other"), write: true }],
      [...grants, { directory: join(folder, "other"), at: "/other" }],
    ])
      expect(await take(others)).not.toBe(waiting);
    expect(await take(grants)).toBe(waiting);
    expect(await take(grants)).not.toBe(waiting);
  });

  test("does not fit if another directory has taken the path, or a protected place has appeared", async () => {
    const { prepare, take } = await openPool();
    const directory = join(folder, "project");
    mkdirSync(directory);
    const grants = [{ directory, write: true }];
    const first = await prepare(grants);
    mkdirSync(join(directory, ".git/hooks"), { recursive: true });
    expect(await take(grants)).not.toBe(first);
    const second = await prepare(grants);
    renameSync(directory, join(folder, "moved"));
    mkdirSync(join(directory, ".git/hooks"), { recursive: true });
    expect(await take(grants)).not.toBe(second);
  });

  test("does not fit a directory that has got the number of one that was removed before it was mounted", async () => {
    await using bubblewrap = await Bubblewrap.open();
    const directory = join(folder, "project");
    mkdirSync(directory);
    const { ino } = statSync(directory);
    const made: PreparedSandbox[] = [];
    const pool = new SandboxPool((mounts) => {
      if (made.length === 0) rmSync(directory, { recursive: true });
      const sandbox = bubblewrap.makeSandbox(mounts);
      made.push(sandbox);
      return sandbox;
    });
    onTestFinished(() => pool.close());
    void pool.prepare([{ directory }], {});
    await vi.waitUntil(() => made.length > 0, { interval: 0 });
    const hasNumber = (): boolean => {
      mkdirSync(directory);
      if (statSync(directory).ino === ino) return true;
      rmSync(directory, { recursive: true });
      return false;
    };
    // Bubblewrap ends while this process is busy, which therefore does not notice it yet.
    let isReused = false;
    for (let turn = 0; turn < 25 && !isReused; turn++) {
      await new Promise((resolve) => setImmediate(resolve));
      for (const until = performance.now() + 20; performance.now() < until && !isReused; )
        isReused = hasNumber();
    }
    mkdirSync(directory, { recursive: true });
    using mounts = await GrantedMounts.open([{ directory }], {});
    const taken = pool.take(mounts);
    onTestFinished(() => taken.discard());
    expect(made).toHaveLength(2);
    expect(taken).toBe(made[1]);
  });

  test("is not taken if it has died meanwhile", async () => {
    const { prepare, take } = await openPool();
    const waiting = await prepare([]);
    await waiting.kill();
    await waiting.exited;
    expect(await take([])).not.toBe(waiting);
  });

  test("is one of at most four, and all end with the pool", async () => {
    const { pool, made, prepare } = await openPool();
    for (let count = 0; count < 6; count++) await prepare([]);
    await Promise.all(made.slice(0, 2).map(({ exited }) => exited));
    expect(made.map(({ hasExited }) => hasExited)).toEqual([true, true, false, false, false, false]);
    const processes = await Promise.all(made.map(({ first }) => first));
    await pool.close();
    expect(processes.map((first) => first?.hasEnded ?? true)).toEqual(made.map(() => true));
  });

  test("ends when it has become too old", async () => {
    const { prepare, take } = await openPool();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const waiting = await new Promise<PreparedSandbox>((resolve) => void prepare([]).then(resolve));
    vi.advanceTimersByTime(60_000);
    await waiting.exited;
    expect(await take([])).not.toBe(waiting);
  });

  test("leaves no process behind if it is discarded at any moment", async () => {
    const { take } = await openPool();
    for (let ms = 0; ms < 20; ms++) {
      const sandbox = await take([]);
      await wait(ms);
      await sandbox.discard();
      await sandbox.exited;
      // Without it, bubblewrap would have died and left its child alone.
      const first = await sandbox.first;
      expect(first).toBeDefined();
      expect(first?.hasEnded).toBe(true);
    }
  });
});

describe.skipIf(unavailable)("A program in a sandbox that waited", () => {
  test("has nothing of the call before: variables, files in /tmp, directory, limits, input", async () => {
    await using sandboxes = await openSandboxes();
    mkdirSync(join(folder, "sub"));
    const capabilities = { fs: [{ directory: folder }] };
    const look = "pwd; echo $A.; ls /tmp; cat; ulimit -t; ls /proc | grep -c '^[0-9]'";
    const program = {
      command: "sh",
      args: ["-c", look],
      output: "text",
      input: { argument: "/text" },
    } as const;
    const outputs: unknown[] = [];
    for (let count = 0; count < 3; count++) {
      const { output } = await runProgram(sandboxes, { program, capabilities, arguments: { text: "in\n" } });
      outputs.push(output);
      await runProgram(sandboxes, {
        program: {
          command: "sh",
          args: ["-c", "touch /tmp/left; sleep 60 & exit"],
          env: { A: "left" },
          cwd: "sub",
          output: "text",
        },
        capabilities,
        limits: { cpuMs: 5_000 },
      });
    }
    expect(outputs[0]).toMatch(/^\/workspace\n\.\nin\nunlimited\n\d\n$/);
    expect(outputs).toEqual([outputs[0], outputs[0], outputs[0]]);
  });

  test("sees what was written since the sandbox was made", async () => {
    await using sandboxes = await openSandboxes();
    const capabilities = { fs: [{ directory: folder }] };
    const program = { command: "cat", args: ["a.txt"], input: "none", output: "text" } as const;
    for (const text of ["one", "two", "three"]) {
      writeFileSync(join(folder, "a.txt"), text);
      expect((await runProgram(sandboxes, { program, capabilities })).output).toBe(text);
    }
  });

  test("keeps no process alive: one that never closes its sandboxes exits", () => {
    const at = (path: string): string => pathToFileURL(join(import.meta.dirname, path)).href;
    const code = `
      import { openSandboxes } from "${at("../../../src/sandboxes/open-sandboxes.ts")}";
      import { runProgram } from "${at("run-program.ts")}";
      const sandboxes = await openSandboxes();
      const program = { command: "echo", args: ["ran"], input: "none", output: "text" };
      for (let count = 0; count < 3; count++) await runProgram(sandboxes, { program });
      process.stdout.write(JSON.stringify(await runProgram(sandboxes, { program })));
    `;
    const { stdout, status } = spawnSync(process.execPath, ["--input-type=module", "--eval", code], {
      encoding: "utf8",
      timeout: 60_000,
    });
    expect(stdout).toContain('"ran\\n"');
    expect(status).toBe(0);
  });
});
