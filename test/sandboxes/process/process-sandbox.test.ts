import { execFileSync } from "node:child_process";
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
import { guardFiles } from "../../../src/base/guarded-files.ts";
import { EventStream } from "../../../src/engine/call/events.ts";
import { ToolDispatchEngine } from "../../../src/engine/engine.ts";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import type { Capabilities } from "../../../src/policy/grant/capabilities.ts";
import type { ResourceLimits } from "../../../src/policy/grant/limits.ts";
import { allow } from "../../../src/policy/policy.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
// Inside: looks for cgroups that a call left, and counts the system calls that the filter refuses.
import { Cgroups, type Hierarchy } from "../../../src/sandboxes/process/cgroups.ts";
import { REFUSED } from "../../../src/sandboxes/process/seccomp-system-calls.ts";
import { unavailable } from "./availability.ts";

const sandboxes = await openSandboxes();
const engine = new ToolDispatchEngine();
const root = realpathSync(mkdtempSync(join(tmpdir(), "process-sandbox-")));
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
  readonly reportsChanges?: boolean;
  readonly signal?: AbortSignal;
  readonly onLog?: (line: string) => void;
}

async function run(
  script: string,
  { capabilities = {}, limits = {}, killGraceMs = 5_000, reportsChanges, signal, onLog }: RunOptions = {},
) {
  const tool = {
    name: "shell",
    description: "",
    inputSchema: { type: "object" },
    process: {
      ...({ command: "sh", args: ["-c", script], input: "none", output: "text", killGraceMs } as const),
      ...(reportsChanges && { reportsChanges }),
    },
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

describe.skipIf(unavailable)("a program in the process sandbox", () => {
  test("sees the system's directories, an own /tmp, and nothing else of the machine", async () => {
    writeFileSync(join(folder, "secret"), "hidden");
    expect((await outputOf("ls /")).trim().split("\n")).toEqual(
      expect.arrayContaining(["bin", "etc", "proc", "tmp", "usr"]),
    );
    expect(
      await outputOf(`cat ${folder}/secret 2>&1 || ls /root /home /var /srv 2>&1 | grep -c 'No such'`),
    ).toMatch(/No such file[\s\S]*4/);
    expect(await outputOf("ls -A /tmp; echo x > /tmp/a && cat /tmp/a")).toBe("x\n");
    expect(await outputOf("ls /tmp | wc -l")).toBe("0\n");
    expect((await outputOf("ls /etc")).split("\n")).not.toContain("shadow");
  });

  test("can change neither the system nor its own root", async () => {
    for (const path of ["/usr/x", "/x", "/etc/x", "/dev/x", "/proc/sys/kernel/hostname"])
      expect(await outputOf(`(echo 1 > ${path}) 2>/dev/null || echo refused`)).toBe("refused\n");
  });

  test("has what it changed in its execution, if the tool asks for that", async () => {
    writeFileSync(join(folder, "old.txt"), "old");
    writeFileSync(join(folder, "gone.txt"), "gone");
    const capabilities: Capabilities = { fs: [{ directory: folder, write: true }] };
    const script = "echo 1 > new.txt; echo more >> old.txt; rm gone.txt; touch /tmp/x; exit 3";
    const failed = await run(script, { capabilities, reportsChanges: true });
    expect(failed.error?.code).toBe("execution_error");
    expect(failed.changes).toEqual({
      command: `sh -c ${script}`,
      files: [
        { path: "gone.txt", change: "deleted", bytes: 0 },
        { path: "new.txt", change: "created", bytes: 2 },
        { path: "old.txt", change: "modified", bytes: 8 },
      ],
    });
    expect((await run("true", { capabilities, reportsChanges: true })).changes?.files).toEqual([]);
    expect(await run("echo 2 > new.txt", { capabilities })).not.toHaveProperty("changes");
  });

  test("sees granted directories and files, and changes only those with write", async () => {
    const [open, closed] = [join(folder, "open"), join(folder, "closed")];
    for (const path of [open, closed]) mkdirSync(path);
    writeFileSync(join(closed, "a.txt"), "old");
    writeFileSync(join(folder, "one.txt"), "one");
    const capabilities: Capabilities = {
      fs: [
        { directory: open, at: "/open", write: true },
        { directory: closed, at: "/closed" },
        { file: join(folder, "one.txt"), at: "/files/one.txt" },
      ],
    };
    expect(await outputOf("pwd; cat /closed/a.txt /files/one.txt; ls /files", { capabilities })).toBe(
      "/open\noldoneone.txt\n",
    );
    expect(
      await outputOf(
        "echo new > b.txt; { echo x > /closed/a.txt; } 2>&1 || { echo x > /files/one.txt; } 2>&1 || true",
        {
          capabilities,
        },
      ),
    ).toMatch(/Read-only/);
    expect(readFileSync(join(open, "b.txt"), "utf8")).toBe("new\n");
    expect(readFileSync(join(closed, "a.txt"), "utf8")).toBe("old");
    expect(readFileSync(join(folder, "one.txt"), "utf8")).toBe("one");
  });

  test("sees a directory that is granted without a place at /workspace", async () => {
    expect(await outputOf("pwd", { capabilities: { fs: [{ directory: folder }] } })).toBe("/workspace\n");
  });

  test("changes protected places only if a grant names them, and what it made of them is reported", async () => {
    mkdirSync(join(folder, ".git/hooks"), { recursive: true });
    const capabilities = { fs: [{ directory: folder, write: true }] };
    const lines: string[] = [];
    const onLog = (line: string): void => void lines.push(line);
    expect(
      await outputOf("(echo x > .git/hooks/a) 2>&1 || echo x > .git/index; ls .git", { capabilities, onLog }),
    ).toMatch(/Read-only file system\nhooks\nindex\n/);
    expect(lines).toEqual([]);
    const script =
      "mkdir -p sub/.git/hooks .vscode; touch sub/.git/index .bashrc AGENTS.md; echo {} > .vscode/tasks.json";
    const { note } = (await run(script, { capabilities, onLog })).output as { note?: string };
    expect(
      lines.map(
        (line) => /^warn: The program made '(.*)', which .*: it was moved to '.sandgate/.exec(line)?.[1],
      ),
    ).toEqual([".bashrc", ".vscode", "AGENTS.md", "sub/.git"]);
    expect(readdirSync(folder).sort()).toEqual([".git", ".sandgate", "sub"]);
    expect(readdirSync(join(folder, "sub"))).toEqual([]);
    const aside = readdirSync(join(folder, ".sandgate/moved-aside"));
    expect(aside).toHaveLength(4);
    for (const name of aside) expect(name).toMatch(/^[0-9a-f]{16}$/);
    if (note !== undefined) expect(note).toContain("'AGENTS.md'");
    const named = { fs: [{ directory: join(folder, ".git/hooks"), write: true }] };
    expect(await outputOf("echo x > a; ls", { capabilities: named })).toBe("a\n");
  });

  test("does not run if a grant leads through a link, or to a place of the system", async () => {
    symlinkSync("/etc", join(folder, "link"));
    for (const grant of [
      { directory: join(folder, "link") },
      { directory: folder, at: "/usr/local" },
      { file: join(folder, "none") },
    ]) {
      const { error } = await run("echo ran", { capabilities: { fs: [grant] } });
      expect(error).toMatchObject({ code: "sandbox_unavailable", effect: "none" });
    }
  });

  test("does not run if a grant of writing would have no effect, or be hidden by another grant", async () => {
    for (const path of ["packages/data", "other"]) mkdirSync(join(folder, path), { recursive: true });
    const code = { path: join(folder, "packages"), access: "read", isFolder: true } as const;
    onTestFinished(guardFiles([code]));
    const inCode = { directory: join(folder, "packages/data"), write: true };
    expect((await run("echo ran", { capabilities: { fs: [inCode] } })).error).toMatchObject({
      code: "permission_denied",
      effect: "none",
      message: expect.stringContaining("with write is code or configuration of Sandgate itself"),
    });
    expect(await outputOf("pwd", { capabilities: { fs: [{ ...inCode, write: false }] } })).toBe(
      "/workspace\n",
    );
    const atOnePlace = [{ directory: folder }, { directory: join(folder, "other"), at: "/workspace" }];
    expect((await run("echo ran", { capabilities: { fs: atOnePlace } })).error).toMatchObject({
      code: "sandbox_unavailable",
      effect: "none",
    });
  });

  test.each([
    "after",
    "before",
  ])("changes what is granted below another directory, although that is named %s it and is protected", async (order) => {
    const [outer, other] = [join(folder, "outer"), join(folder, "other")];
    for (const path of ["outer/.git/hooks", "outer/conf", "other"])
      mkdirSync(join(folder, path), { recursive: true });
    for (const path of [".git/HEAD", ".git/config", "conf/token", "conf/config.yaml"])
      writeFileSync(join(outer, path), "OWN");
    const token = { path: join(outer, "conf/token") };
    const config = { path: join(outer, "conf/config.yaml"), access: "read" } as const;
    onTestFinished(guardFiles([token, config]));
    const fs = [
      { directory: join(outer, ".git"), at: "/w/.git", write: true, writesProtected: true } as const,
      { directory: other, at: "/w/conf", write: true },
      { directory: outer, at: "/w", write: true },
    ];
    const script =
      "cd /w; ls conf; echo 1 > .git/config; echo 1 > .git/hooks/pre-push; echo 1 > conf/config.yaml; echo 1 > conf/token";
    const capabilities = { fs: order === "after" ? fs : fs.toReversed() };
    const lines: string[] = [];
    expect(await outputOf(script, { capabilities, onLog: (line) => void lines.push(line) })).toBe("");
    expect(lines).toEqual([]);
    const read = (path: string): string => readFileSync(join(folder, path), "utf8");
    expect(
      [".git/config", ".git/hooks/pre-push", "conf/token", "conf/config.yaml"].map((path) =>
        read(`outer/${path}`),
      ),
    ).toEqual(["1\n", "1\n", "OWN", "OWN"]);
    expect([read("other/config.yaml"), read("other/token")]).toEqual(["1\n", "1\n"]);
  });

  test("has only the granted environment, and nothing of this process can be read", async () => {
    process.env["PROCESS_TEST_GIVEN"] = "given";
    process.env["PROCESS_TEST_KEPT"] = "kept";
    const capabilities = { env: ["PROCESS_TEST_GIVEN", "PROCESS_TEST_MISSING"] };
    expect((await outputOf("env", { capabilities })).trim().split("\n").sort()).toEqual([
      "CARGO_NET_RETRY=0",
      "HOME=/tmp",
      "LANG=C.UTF-8",
      "PATH=/usr/bin:/bin",
      "PIP_RETRIES=0",
      "PROCESS_TEST_GIVEN=given",
      "PWD=/tmp",
      "UV_HTTP_RETRIES=0",
      "npm_config_fetch_retries=0",
    ]);
    expect(
      await outputOf(
        "cat /proc/1/environ /proc/2/environ 2>/dev/null | tr '\\0' '\\n' | grep -c KEPT || true",
      ),
    ).toBe("0\n");
  });

  test("has no open descriptor but the standard ones, and no capability or privilege to gain", async () => {
    const links = await outputOf("exec ls -l /proc/self/fd");
    const others =
      links.match(/\d+ -> .*/g)?.filter((link) => !/^[012] |-> \/proc\/\d+\/fd$/.test(link)) ?? [];
    expect(others.filter((line) => !line.endsWith("-> /dev/null"))).toEqual([]);
    expect(await outputOf("grep -E 'CapEff|NoNewPrivs|Seccomp:' /proc/self/status")).toBe(
      "CapEff:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n",
    );
  });

  test("sees no other processes, and has a host name, a network and a session of its own", async () => {
    expect(await outputOf("ls /proc | grep -c '^[0-9]'")).toMatch(/^[3-6]\n$/);
    expect(
      await outputOf("cat /proc/sys/kernel/hostname; tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '"),
    ).toBe("sandbox\nlo\n");
  });

  test("ends with all that it started, when its deadline comes and when it ends by itself", async () => {
    const marker = `4${process.pid}.${Math.floor(Math.random() * 1e9)}`;
    const left = (): string =>
      execFileSync("sh", [
        "-c",
        `grep -l -a '[4]${marker.slice(1)}' /proc/[0-9]*/cmdline 2>/dev/null | grep -v self || true`,
      ]).toString();
    const spread = `setsid sleep ${marker} & (setsid sleep ${marker} &) ; trap '' TERM; `;
    const late = await run(`${spread} while :; do :; done`, {
      limits: { wallTimeMs: 300 },
      killGraceMs: 100,
    });
    expect(late.error?.code).toBe("timeout");
    expect(late.receipt.ended).toBe("confirmed");
    expect(left()).toBe("");
    await run(`${spread} exit 0`);
    expect(left()).toBe("");
  });

  test("gets SIGTERM first when it is cancelled or its deadline comes, and can end by itself", async () => {
    const capabilities = { fs: [{ directory: folder, write: true }] };
    const tidy = "trap 'echo tidied > tidied; exit 0' TERM; touch begun; while :; do :; done";
    const late = await run(tidy, { capabilities, limits: { wallTimeMs: 500 } });
    expect(late.error?.code).toBe("timeout");
    expect(readFileSync(join(folder, "tidied"), "utf8")).toBe("tidied\n");
    for (const name of ["tidied", "begun"]) rmSync(join(folder, name));
    const cancel = new AbortController();
    const running = run(tidy, { capabilities, signal: cancel.signal });
    await vi.waitUntil(() => existsSync(join(folder, "begun")), { timeout: 10_000 });
    cancel.abort();
    expect((await running).error?.code).toBe("cancelled");
    expect((await running).receipt.ended).toBe("confirmed");
    expect(readFileSync(join(folder, "tidied"), "utf8")).toBe("tidied\n");
  });

  test("is killed if it ignores SIGTERM, after the grace that the tool gives", async () => {
    const { error, receipt, durationMs } = await run("trap '' TERM; while :; do :; done", {
      limits: { wallTimeMs: 200 },
      killGraceMs: 400,
    });
    expect(error?.code).toBe("timeout");
    expect(receipt.ended).toBe("confirmed");
    expect(durationMs).toBeGreaterThanOrEqual(600);
  });

  test("is stopped at its output, CPU time and memory limits", async () => {
    expect((await run("yes", { limits: { outputBytes: 10_000 } })).error).toMatchObject({
      code: "limit_exceeded",
    });
    expect((await run("while :; do :; done", { limits: { cpuMs: 500 } })).error).toMatchObject({
      code: "limit_exceeded",
    });
    const { error } = await run("head -c 500000000 /dev/zero | tail", {
      limits: { processMemoryBytes: 100_000_000 },
    });
    expect(error?.message).toMatch(/memory/);
  });

  test("logs what it writes to its standard error, up to the limit", async () => {
    const lines: string[] = [];
    const onLog = (line: string): void => void lines.push(line);
    const { receipt } = await run("seq 1 9 >&2", { limits: { logLines: 3 }, onLog });
    expect(lines).toEqual(["info: 1", "info: 2", "info: 3"]);
    expect(receipt.used.logLines).toBe(3);
  });

  test("fails with the end of its standard error, which operators get as log lines", async () => {
    expect((await run("echo first >&2; echo cannot open >&2; exit 3")).error).toMatchObject({
      code: "execution_error",
      message: "first\ncannot open",
      effect: "none",
    });
    expect((await run("exit 3")).error?.message).toBe("The program exited with code 3");
    const writable = { capabilities: { fs: [{ directory: folder, write: true }] } };
    expect((await run("exit 3", writable)).error?.effect).toBe("unknown");
  });

  test("passes its arguments on as they are, whatever characters they have", async () => {
    const args = ["a b", "$(id)", "'", '"', "\\", "`id`", "\n", "*", "é", "-n", ""];
    const tool = {
      name: "printf",
      description: "",
      inputSchema: { type: "object" },
      process: { command: "/usr/bin/printf", args: ["%s|", ...args], input: "none", output: "text" },
    } as const;
    const execution = await engine.dispatch(
      { id: "c1", name: "printf", arguments: {} },
      {
        registry: new ToolRegistry().register(tool),
        policy: { check: () => allow({ sandbox: "process" }) },
        sandboxes,
        sessionId: "s1",
      },
    );
    expect(execution?.output).toBe(`${args.join("|")}|`);
  });
});

const cgroups = new Cgroups();
if (typeof cgroups.memory === "string") console.warn(`Tests of memoryBytes are skipped: ${cgroups.memory}`);
if (typeof cgroups.pids === "string") console.warn(`Tests of processes are skipped: ${cgroups.pids}`);

describe.skipIf(unavailable || typeof cgroups.memory === "string")("the memory of a program", () => {
  const MIB = 1_024 * 1_024;
  const fork = "for n in 1 2 3 4; do perl -e '$x = q(x) x 30_000_000; sleep 1' & done; wait; echo held";

  test("is limited for all its processes together, with the files in /tmp", async () => {
    expect((await run(fork, { limits: { memoryBytes: 60 * MIB } })).error).toMatchObject({
      code: "limit_exceeded",
    });
    const files = "head -c 40000000 /dev/zero > /tmp/a; echo held";
    expect((await run(files, { limits: { memoryBytes: 20 * MIB } })).error).toMatchObject({
      code: "limit_exceeded",
    });
    expect(await outputOf(fork, { limits: { memoryBytes: 400 * MIB } })).toBe("held\n");
  });

  test("leaves no cgroup behind", async () => {
    await run("exit 0", { limits: { memoryBytes: 60 * MIB, processes: 10 } });
    const { directory } = cgroups.memory as Hierarchy;
    expect(readdirSync(directory).filter((name) => name.includes(`-${process.pid}-`))).toEqual([]);
  });
});

describe.skipIf(unavailable || typeof cgroups.pids === "string")("the processes of a program", () => {
  test("are limited in number, so that it cannot fork without end", async () => {
    const count = "n=0; while [ $n -lt 20 ]; do sleep 5 & n=$((n+1)); echo $n; done";
    const { output, error } = await run(count, { limits: { processes: 8 } });
    expect(error?.message ?? output).toMatch(/[Cc]annot fork/);
    expect(await outputOf(`${count}; exit 0`, { limits: { processes: 30 } })).toMatch(/20\n$/);
    const bomb = await run("f() { f | f & }; f; sleep 1", { limits: { processes: 20, wallTimeMs: 3_000 } });
    expect(bomb.receipt.ended ?? "confirmed").toBe("confirmed");
  });
});

describe.skipIf(unavailable)("limits and grants that cannot be enforced", () => {
  test.each(["fileBytes", "stackBytes", "nestedCalls"] as const)("%s is refused", async (limit) => {
    expect((await run("echo ran", { limits: { [limit]: 1_000_000 } })).error?.code).toBe(
      "limit_unenforceable",
    );
  });

  test.each<Capabilities>([{ secrets: ["KEY"] }, { tools: ["*"] }])("%j is refused", async (capabilities) => {
    expect((await run("echo ran", { capabilities })).error?.code).toBe("sandbox_unavailable");
  });
});

describe.skipIf(unavailable)("the seccomp filter", () => {
  test("refuses system calls that lead out, on each supported architecture", () => {
    expect(REFUSED.length).toBeGreaterThan(50);
  });

  test("lets programs neither create namespaces, nor trace, nor open sockets of other families and protocols", async () => {
    expect(await outputOf("unshare -U true 2>&1 || true")).toMatch(/Operation not permitted/);
    expect(await outputOf("mount -t tmpfs none /tmp 2>&1 || true")).toMatch(
      /denied|not permitted|must be superuser/,
    );
    for (const socket of [
      "AF_INET, SOCK_RAW, 1",
      "16, SOCK_RAW, 0",
      "17, SOCK_RAW, 768",
      "40, SOCK_STREAM, 0",
    ])
      expect(await outputOf(`perl -MSocket -e 'socket(S, ${socket}) or print $!'`)).toMatch(
        /Operation not permitted/,
      );
    for (const family of ["AF_UNIX", "AF_INET", "AF_INET6"])
      expect(
        await outputOf(`perl -MSocket -e 'socket(S, ${family}, SOCK_STREAM, 0) and print q(open)'`),
      ).toBe("open");
  });

  test("kills a program that makes a system call of another ABI", async () => {
    const source = join(folder, "x32.c");
    writeFileSync(source, "#include <unistd.h>\nint main(void) { syscall(0x40000000 + 39); return 0; }\n");
    if (!existsSync("/usr/bin/cc") || process.arch !== "x64") return;
    execFileSync("cc", ["-o", join(folder, "x32"), source]);
    chmodSync(join(folder, "x32"), 0o755);
    const { error } = await run("/workspace/x32", { capabilities: { fs: [{ directory: folder }] } });
    expect(error?.code).toBe("execution_error");
  });
});
