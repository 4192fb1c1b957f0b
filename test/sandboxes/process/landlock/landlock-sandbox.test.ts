import { execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { EventStream } from "../../../../src/engine/call/events.ts";
import { ToolDispatchEngine } from "../../../../src/engine/engine.ts";
import { ToolRegistry } from "../../../../src/engine/registry.ts";
import type { Capabilities } from "../../../../src/policy/grant/capabilities.ts";
import type { ResourceLimits } from "../../../../src/policy/grant/limits.ts";
import { allow } from "../../../../src/policy/policy.ts";
import { openSandboxes } from "../../../../src/sandboxes/open-sandboxes.ts";
import { reportProcess } from "../../../../src/sandboxes/process/process-report.ts";
import { landlockUnavailable } from "../availability.ts";

const sandboxes = await openSandboxes({ process: { isolation: "landlock" } });
const engine = new ToolDispatchEngine();
const root = realpathSync(mkdtempSync(join(tmpdir(), "landlock-sandbox-")));
afterAll(async () => {
  await sandboxes.close();
  rmSync(root, { recursive: true });
});

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(root, "case-"));
});

interface RunOptions {
  readonly capabilities?: Capabilities;
  readonly limits?: ResourceLimits;
  readonly killGraceMs?: number;
  readonly signal?: AbortSignal;
  readonly onLog?: (line: string) => void;
  readonly command?: string;
}

async function run(
  script: string,
  { capabilities = {}, limits = {}, killGraceMs = 5_000, signal, onLog, command = "sh" }: RunOptions = {},
) {
  const tool = {
    name: "shell",
    description: "",
    inputSchema: { type: "object" },
    process: { command, args: ["-c", script], input: "none", output: "text", killGraceMs },
  } as const;
  const events = new EventStream();
  events.on((event) => {
    if (event.type === "tool.log") onLog?.(`${event.level}: ${event.message}`);
  });
  const execution = await engine.dispatch(
    { id: "c1", name: "shell", arguments: {} },
    {
      ...(signal && { signal }),
      events,
      registry: new ToolRegistry().register(tool),
      policy: { check: () => allow({ sandbox: "process", limits, capabilities }) },
      sandboxes,
      sessionId: "s1",
    },
  );
  return execution as NonNullable<typeof execution>;
}

async function outputOf(script: string, options?: RunOptions): Promise<string> {
  const { output, error } = await run(script, options);
  if (error !== undefined) throw new Error(error.message);
  return output as string;
}

const writable = (): Capabilities => ({ fs: [{ directory: folder, write: true }] });

describe.skipIf(landlockUnavailable)("a program on Landlock", () => {
  test("uses granted directories and files at their own paths, and the receipt says what confined it", async () => {
    const [open, closed] = [join(folder, "open"), join(folder, "closed")];
    for (const path of [open, closed]) mkdirSync(path);
    writeFileSync(join(closed, "a.txt"), "old");
    writeFileSync(join(folder, "one.txt"), "one");
    const capabilities: Capabilities = {
      fs: [
        { directory: open, at: open, write: true },
        { directory: closed, at: closed },
        { file: join(folder, "one.txt"), at: join(folder, "one.txt") },
      ],
    };
    const script = `pwd; cat ${closed}/a.txt ../one.txt; echo new > b.txt; echo x > ${closed}/a.txt || echo x > ../one.txt`;
    const { output, error, receipt } = await run(`{ ${script}; } 2>&1; true`, { capabilities });
    expect(error).toBeUndefined();
    expect(output).toMatch(
      new RegExp(`^${open}\\noldone[^\\n]*a.txt: Permission denied\\n[^\\n]*one.txt: Permission denied\\n$`),
    );
    expect(receipt.isolation).toBe("landlock");
    expect(readFileSync(join(open, "b.txt"), "utf8")).toBe("new\n");
    expect(readFileSync(join(closed, "a.txt"), "utf8")).toBe("old");
    expect(readFileSync(join(folder, "one.txt"), "utf8")).toBe("one");
  });

  test("reads nothing else but files of the system", async () => {
    writeFileSync(join(folder, "secret"), "hidden");
    const script = `for f in ${folder}/secret /etc/passwd /proc/self/environ /proc/1/status; do cat $f 2>/dev/null && exit 1; done; head -1 /proc/meminfo`;
    expect(await outputOf(script)).toMatch(/^MemTotal/);
  });

  test("runs Node.js in a folder of a package, and reads of the folders above only the package.json", async () => {
    const above = (name: string): string => join(folder, "..", name);
    const below = join(folder, "deep", "er");
    mkdirSync(below, { recursive: true });
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    writeFileSync(join(folder, "notes"), "notes");
    writeFileSync(above("package.json"), '{ "name": "above" }');
    onTestFinished(() => rmSync(above("package.json")));
    writeFileSync(join(below, "main.js"), 'import { sep } from "node:path"; console.log(sep);');
    const granted = { capabilities: { fs: [{ directory: below, at: below }] } };
    const node = { file: process.execPath, at: process.execPath };
    expect(
      await outputOf(`${process.execPath} main.js`, {
        capabilities: { fs: [{ directory: below, at: below }, node] },
      }),
    ).toBe("/\n");
    expect(await outputOf("cat ../../package.json", granted)).toBe('{ "type": "module" }');
    for (const path of ["../../notes", "../../../package.json"])
      expect((await run(`cat ${path}`, granted)).error?.message).toContain("Permission denied");
    // Node.js looks no further than to the nearest one, and nothing is granted through a link.
    symlinkSync(join(folder, "notes"), join(below, "package.json"));
    expect((await run("cat package.json", granted)).error?.message).toContain("Permission denied");
    expect((await run("cat ../../package.json", granted)).error?.message).toContain("Permission denied");
  });

  test("does not run if a grant has another place, or names what is not there", async () => {
    for (const grant of [
      { directory: folder, at: "/work" },
      { directory: "/usr/share" },
      { file: join(folder, "none") },
    ]) {
      const { error, receipt } = await run("echo ran", { capabilities: { fs: [grant] } });
      expect(error).toMatchObject({ code: "sandbox_unavailable", effect: "none" });
      expect(receipt.isolation).toBeUndefined();
    }
  });

  test("has a temporary directory of its own, which is removed after the call", async () => {
    const temporary = (
      await outputOf("echo x > $TMPDIR/a; mkdir $TMPDIR/b; (echo x > /tmp/z) 2>&1 || echo $TMPDIR")
    )
      .trim()
      .split("\n")
      .at(-1);
    expect(temporary).toMatch(/sandgate-tmp-/);
    expect(existsSync(temporary as string)).toBe(false);
  });

  test("has only the granted environment, no other descriptor and no privilege", async () => {
    process.env["LANDLOCK_TEST_GIVEN"] = "given";
    process.env["LANDLOCK_TEST_KEPT"] = "kept";
    const capabilities = { env: ["LANDLOCK_TEST_GIVEN"] };
    const env = (await outputOf("env", { capabilities })).trim().split("\n");
    expect(env.map((line) => line.split("=")[0]).sort()).toEqual(
      [
        "GIT_CONFIG_NOSYSTEM",
        "HOME",
        "LANDLOCK_TEST_GIVEN",
        "LANG",
        "PATH",
        "PWD",
        "TMPDIR",
        "CARGO_NET_RETRY",
        "PIP_RETRIES",
        "UV_HTTP_RETRIES",
        "npm_config_fetch_retries",
      ].sort(),
    );
    const opened =
      "for n in 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do (: <&$n) 2>/dev/null && echo $n; done; true";
    expect(await outputOf(opened, { command: "bash" })).toBe("");
    const capable = "use POSIX; print chroot('.') ? 'yes' : 'no', getpgrp() == $$ ? ' leads' : ' follows'";
    expect(await outputOf(`exec perl -e "${capable.replaceAll("$", "\\$")}"`)).toBe("no leads");
  });

  test("can signal neither its supervisor nor another process", async () => {
    const other = spawn("sleep", ["1000"]);
    const script = `kill -0 $PPID 2>/dev/null && echo supervisor; kill -0 ${other.pid} 2>/dev/null && echo other; kill -0 $$ && echo itself`;
    const output = await outputOf(script);
    other.kill("SIGKILL");
    expect(output).toBe("itself\n");
  });

  test("ends with all that it started, wherever that went", async () => {
    const marker = `5${process.pid}.${Math.floor(Math.random() * 1e9)}`;
    const left = (): string =>
      execFileSync("sh", [
        "-c",
        `grep -l -a '[5]${marker.slice(1)}' /proc/[0-9]*/cmdline 2>/dev/null | grep -v self || true`,
      ]).toString();
    const spread = `setsid sleep ${marker} & (setsid sleep ${marker} &) ; (setsid sh -c 'setsid sleep ${marker} & exit' &) ; trap '' TERM; `;
    const late = await run(`${spread} while :; do :; done`, {
      limits: { wallTimeMs: 2_000 },
      killGraceMs: 100,
    });
    expect(late.error?.code).toBe("timeout");
    expect(late.receipt.ended).toBe("confirmed");
    expect(left()).toBe("");
    const { receipt } = await run(`${spread} exit 0`);
    expect(receipt.mayStillRun).toBeUndefined();
    expect(left()).toBe("");
  });

  test("gets SIGTERM first when it is cancelled, and can end by itself", async () => {
    const tidy = "trap 'echo tidied > tidied; exit 0' TERM; touch begun; while :; do sleep 0.1; done";
    const cancel = new AbortController();
    const running = run(tidy, { capabilities: writable(), signal: cancel.signal });
    await vi.waitUntil(() => existsSync(join(folder, "begun")), { timeout: 60_000 });
    cancel.abort();
    const { error, receipt } = await running;
    expect(error?.code).toBe("cancelled");
    expect(receipt.ended).toBe("confirmed");
    expect(readFileSync(join(folder, "tidied"), "utf8")).toBe("tidied\n");
  });

  test("does not begin if it is cancelled before", async () => {
    for (let turns = 0; turns < 5; turns++) {
      const cancel = new AbortController();
      const running = run("touch begun", { capabilities: writable(), signal: cancel.signal });
      for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
      cancel.abort();
      const { error, receipt } = await running;
      expect(error?.code).toBe("cancelled");
      expect(receipt.mayStillRun).toBeUndefined();
    }
    expect(existsSync(join(folder, "begun"))).toBe(false);
  });

  test("can make its protected places unreadable, and the call still ends as it did", async () => {
    mkdirSync(join(folder, ".git/hooks"), { recursive: true });
    const fs = [{ directory: folder, write: true, writesProtected: true as const }];
    const output = await outputOf("chmod 0 .git/hooks; echo done", { capabilities: { fs } });
    chmodSync(join(folder, ".git/hooks"), 0o755);
    expect(output).toBe("done\n");
  });

  test("is not confirmed to have ended if its supervisor is killed", async () => {
    const running = run("echo $PPID > supervisor; sleep 1000", { capabilities: writable() });
    await vi.waitUntil(() => existsSync(join(folder, "supervisor")), { timeout: 60_000 });
    await vi.waitUntil(() => readFileSync(join(folder, "supervisor"), "utf8").endsWith("\n"), {
      timeout: 60_000,
    });
    process.kill(Number(readFileSync(join(folder, "supervisor"), "utf8")), "SIGKILL");
    const { error, receipt } = await running;
    expect(error?.code).toBe("execution_error");
    expect(receipt).toMatchObject({ mayStillRun: true, ended: "requested" });
  });

  test("is stopped at its output, CPU time and memory limits", async () => {
    const code = async (script: string, limits: ResourceLimits) =>
      (await run(script, { limits })).error?.code;
    expect(await code("yes", { outputBytes: 10_000 })).toBe("limit_exceeded");
    expect(await code("while :; do :; done", { cpuMs: 500 })).toBe("limit_exceeded");
    const { error } = await run("head -c 500000000 /dev/zero | tail", {
      limits: { processMemoryBytes: 100_000_000 },
    });
    expect(error?.message).toMatch(/memory/);
  });

  // The process that becomes the program is Node.js, which needs more.
  test("starts with less memory than Node.js needs", async () => {
    const limits = { processMemoryBytes: 20_000_000, wallTimeMs: 60_000 };
    const runs = Array.from({ length: 12 }, () => run("ulimit -v", { limits }));
    for (const { error, output } of await Promise.all(runs))
      expect(error ?? String(output).trim()).toBe("19531");
  });

  test.each([
    "fileBytes",
    "stackBytes",
    "netBytes",
  ] as const)("is refused with the limit %s", async (limit) => {
    const { error } = await run("echo ran", { limits: { [limit]: 1_000_000 } });
    expect(error?.code).toBe("limit_unenforceable");
  });

  test("has its number of processes limited by a cgroup, or not at all", async () => {
    const { error, output } = await run("n=0; while [ $n -lt 20 ]; do sleep 5 & n=$((n+1)); echo $n; done", {
      limits: { processes: 8 },
    });
    const { cgroups } = await reportProcess();
    if ("reason" in cgroups.pids) expect(error?.code).toBe("limit_unenforceable");
    else expect(error?.message ?? output).toMatch(/[Cc]annot fork/);
  });

  test.each<Capabilities>([
    { net: ["https://example.com"] },
    { secrets: ["KEY"] },
    { tools: ["*"] },
  ])("is refused with %j", async (capabilities) => {
    expect((await run("echo ran", { capabilities })).error?.code).toBe("sandbox_unavailable");
  });

  test("has no write access to a folder with protected places, unless the grant accepts that", async () => {
    mkdirSync(join(folder, ".git/hooks"), { recursive: true });
    const { error } = await run("echo ran", { capabilities: writable() });
    expect(error).toMatchObject({ code: "permission_denied", effect: "none", userVisible: true });
    // The model reads what is in the way and what would help, and no path of this machine.
    expect(error?.message).toMatch(
      /has '\.git\/\w+'.*Ask the user to install bubblewrap, to accept that with writesProtected/,
    );
    expect(error?.message).not.toContain(folder);
    const all = { fs: [{ directory: folder, write: true, writesProtected: true as const }] };
    await run("echo x > .git/hooks/a", { capabilities: all });
    expect(readFileSync(join(folder, ".git/hooks/a"), "utf8")).toBe("x\n");
    expect(await outputOf("cat .git/hooks/a", { capabilities: { fs: [{ directory: folder }] } })).toBe("x\n");
  });

  test("has what it makes in protected places moved aside, and operators read of it", async () => {
    const lines: string[] = [];
    const script = "mkdir -p a/.vscode; echo x > .profile; echo x > ok";
    await run(script, { capabilities: writable(), onLog: (line) => void lines.push(line) });
    expect(lines.map((line) => /'(.*?)'/.exec(line)?.[1])).toEqual([".profile", "a/.vscode"]);
    expect(readdirSync(folder).sort()).toEqual([".sandgate", "a", "ok"]);
    expect(readdirSync(join(folder, "a"))).toEqual([]);
  });

  test("runs ordinary programs", async () => {
    const script =
      "set -e; bash -c 'cat <(echo sub)'; perl -e 'print 1'; printf a > a; chmod +x a; touch -d 2001-01-01 a; cp -p a b; " +
      "tar cf t.tar a b; tar xf t.tar; mkdir -p d/e; mv a d/e/a; find . -name a | xargs wc -c; ln -s b l; rm -r d; sort b | uniq | tail -1";
    expect(await outputOf(`{ ${script}; } 2>&1`, { capabilities: writable() })).toBe("sub\n11 ./d/e/a\na\n");
  });

  test("leaves no temporary directory behind", async () => {
    // Other processes have theirs in the machine's.
    const temporary = mkdtempSync(join(root, "tmp-"));
    vi.stubEnv("TMPDIR", temporary);
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(await outputOf('printf "$TMPDIR"')).toMatch(`${temporary}/sandgate-tmp-`);
    await run("exit 3");
    expect(readdirSync(temporary)).toEqual([]);
  });

  test("leaves no temporary directory behind if it ends only after its call", async () => {
    const temporary = mkdtempSync(join(root, "tmp-"));
    vi.stubEnv("TMPDIR", temporary);
    onTestFinished(() => void vi.unstubAllEnvs());
    const cancelling = new AbortController();
    const { signal } = cancelling;
    const file = join(folder, "supervisor");
    const running = run("echo $PPID > supervisor; sleep 1000", {
      capabilities: writable(),
      signal,
      killGraceMs: 0,
    });
    await vi.waitUntil(() => existsSync(file) && readFileSync(file, "utf8").endsWith("\n"), {
      timeout: 60_000,
    });
    const supervisor = Number(readFileSync(file, "utf8"));
    process.kill(supervisor, "SIGSTOP");
    cancelling.abort();
    expect((await running).receipt).toMatchObject({ mayStillRun: true, ended: "requested" });
    process.kill(supervisor, "SIGCONT");
    await vi.waitUntil(() => readdirSync(temporary).length === 0, { timeout: 15_000 });
  });
});
