import { execFileSync } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { dirname, join, posix } from "node:path";
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { type GuardedFile, guardFiles } from "../../../src/base/guarded-files.ts";
import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import { ToolDispatchEngine } from "../../../src/engine/engine.ts";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import type { Tool } from "../../../src/engine/tool.ts";
import { startExecutor } from "../../../src/executor/executor.ts";
import type { FsGrant } from "../../../src/policy/grant/fs-grant.ts";
import { allow } from "../../../src/policy/policy.ts";
import { openSandboxes, type Sandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { toolsOf } from "../../../src/toolsets/toolsets.ts";
import { Guard, MountPoints } from "../../../src/workspace/guard.ts";
import { coverOf } from "../../../src/workspace/guarded-watch.ts";
import { workspaceIsSupported } from "../../../src/workspace/paths.ts";
import { filesComponent } from "../../fixtures/wasm/files-component.ts";
import { wasmTask } from "../../fixtures/wasm/task.ts";
import {
  landlockUnavailable,
  unavailable as processUnavailable,
} from "../../sandboxes/process/availability.ts";
import { TOOLSET_OPTIONS } from "../../toolsets/toolset-table.ts";
import { codeOf, GrantedTree, readText, writeText } from "../granted-tree.ts";

let tree: GrantedTree;
const at = (path: string): string => join(tree.root, path);

/** What a server's folder holds: what tools may read, and what they may not. */
const READABLE = ["conf/config.yaml", "conf/config.lock", "conf/journal/journal-1.jsonl"];
const SECRET = ["conf/token", "conf/sessions.db", "conf/journal/journal-1.sealed", "conf/journal/keys/s1"];

beforeEach(() => {
  tree = new GrantedTree();
  onTestFinished(() => tree[Symbol.dispose]());
  for (const path of [...READABLE, ...SECRET]) {
    mkdirSync(dirname(at(path)), { recursive: true });
    writeFileSync(at(path), "OWN");
  }
  guard([
    { path: at("conf/config.yaml"), access: "read" },
    { path: at("conf/config.lock"), access: "read" },
    { path: at("conf/policy.yaml"), access: "read" },
    { path: at("conf/journal"), access: "read", isFolder: true },
    { path: at("conf/journal"), isFolder: true, ending: ".sealed" },
    { path: at("conf/journal/keys"), isFolder: true },
    { path: at("conf/token") },
    { path: at("conf/sessions.db") },
    { path: at("conf/sessions.db-wal") },
  ]);
});

/** Guards files until the test ends. */
function guard(files: readonly GuardedFile[]): void {
  onTestFinished(guardFiles(files));
}

function expectUntouched(): void {
  for (const path of [...READABLE, ...SECRET]) expect(readFileSync(at(path), "utf8"), path).toBe("OWN");
  expect(readdirSync(at("conf")).sort()).toEqual([
    "config.lock",
    "config.yaml",
    "journal",
    "sessions.db",
    "token",
  ]);
}

describe.skipIf(!workspaceIsSupported())("A guarded file", () => {
  test.each([
    ...READABLE,
    ...SECRET,
    "conf/policy.yaml",
    "conf/sessions.db-wal",
    "conf/journal/journal-2.jsonl",
  ])("cannot be written, created, removed or replaced through any grant: %s", (path) => {
    for (const grant of [{}, { directory: dirname(at(path)) }, { writesProtected: true } as const]) {
      const [directory] = tree.open(grant);
      const name = grant.directory === undefined ? path : (path.split("/").at(-1) as string);
      writeFileSync(join(grant.directory ?? tree.root, "mine"), "MINE");
      for (const attempt of [
        () => writeText(directory, name, "NEW"),
        () => directory.replace(name, { create: true }),
        () => directory.createDirectory(name),
        () => directory.removeFile(name),
        () => directory.rename("mine", directory, name),
        () => directory.rename(name, directory, "moved"),
        () =>
          writeText(directory, posix.join(posix.dirname(name), posix.basename(name).toUpperCase()), "NEW"),
      ])
        expect(codeOf(attempt)).toMatch(/^(not-permitted|read-only)$/);
      rmSync(join(grant.directory ?? tree.root, "mine"));
    }
    expectUntouched();
  });

  test("can be read or not, as it is guarded", () => {
    const [directory] = tree.open();
    for (const path of READABLE) expect(readText(directory, path)).toBe("OWN");
    for (const path of SECRET) {
      expect(() => readText(directory, path), path).toThrow(/keys or records of Sandgate itself/);
    }
    expect(codeOf(() => directory.open("conf/journal/keys"))).toBe("not-permitted");
  });

  test("cannot be reached by a hard link or a symbolic link", () => {
    linkSync(at("conf/token"), at("linked"));
    linkSync(at("conf/config.yaml"), at("config"));
    symlinkSync("conf/token", at("symbolic"));
    symlinkSync("conf/config.yaml", at("symbolic-config"));
    const [directory] = tree.open();
    expect(codeOf(() => readText(directory, "linked"))).toBe("not-permitted");
    expect(codeOf(() => readText(directory, "symbolic"))).toBe("not-permitted");
    expect(codeOf(() => writeText(directory, "symbolic-config", "NEW"))).toBe("read-only");
    // It gets a file of its own.
    writeText(directory, "config", "NEW");
    expectUntouched();
  });

  test("stays where it is: no directory on the way can be moved away", () => {
    const [directory] = tree.open();
    expect(codeOf(() => directory.rename("conf", directory, "conf2"))).toBe("read-only");
    expect(codeOf(() => directory.rename("conf/journal", directory, "journal"))).toBe("read-only");
    directory.createDirectory("fresh");
    expect(codeOf(() => directory.rename("fresh", directory, "conf"))).toBe("read-only");
    expectUntouched();
  });

  test("is not missed among too many: no file with several hard links is given then", () => {
    mkdirSync(at("store"));
    for (let index = 0; index < 10_001; index++) writeFileSync(at(`store/${index}`), "");
    const [directory] = tree.open();
    linkSync(at("ok.txt"), at("linked.txt"));
    expect(readText(directory, "linked.txt")).toBe("OK");
    guard([{ path: at("store"), isFolder: true }]);
    expect(codeOf(() => readText(directory, "linked.txt"))).toBe("not-permitted");
    expect(() => coverOf(tree.root, true)).toThrow(/too many of Sandgate's own files/);
    expect(readText(directory, "a/in.txt")).toBe("IN");
  });

  test("is found by every path at which it is mounted", () => {
    const mounts = new MountPoints(
      [
        "20 1 8:1 / / rw - ext4 /dev/sda1 rw",
        "21 20 8:1 /etc/sandgate /mnt/my\\040conf rw - ext4 /dev/sda1 rw",
        "22 20 8:1 /var/journal/keys /mnt/keys rw - ext4 /dev/sda1 rw",
        "23 20 8:2 / /srv rw - ext4 /dev/sdb1 rw",
      ].join("\n"),
    );
    expect(mounts.aliasesOf("/etc/sandgate/token")).toEqual(["/mnt/my conf/token"]);
    expect(mounts.aliasesOf("/var/journal")).toEqual(["/mnt/keys"]);
    expect(mounts.aliasesOf("/srv/x")).toEqual([]);
    const found = new Guard([{ path: "/etc/sandgate/token" }], mounts);
    expect(found.accessTo("/mnt/my conf/token")).toBe("none");
    expect(found.isAbove("/mnt/my conf")).toBe(true);
    expect(found.accessTo("/mnt/my conf/token2")).toBe(undefined);
  });
});

describe.skipIf(!workspaceIsSupported())("In every sandbox with files, a tool", async () => {
  const sandboxes = await openSandboxes();
  afterAll(() => sandboxes.close());
  const engine = new ToolDispatchEngine();
  const component = filesComponent();

  const run = async (
    sandbox: "host" | "quickjs" | "process",
    implementation: Partial<Tool>,
    fs: readonly FsGrant[] = [{ directory: tree.root, at: "/workspace", write: true }],
    used: Sandboxes = sandboxes,
  ): Promise<ToolExecution> => {
    const tool: Tool = {
      name: "t",
      description: "",
      inputSchema: { type: "object" },
      ...implementation,
    };
    const execution = await engine.dispatch(
      { id: "c1", name: "t", arguments: {} },
      {
        registry: new ToolRegistry().register(tool),
        policy: { check: () => allow({ sandbox, capabilities: { fs } }) },
        sandboxes: used,
        sessionId: "s1",
      },
    );
    return execution as ToolExecution;
  };

  test("of the host cannot read a token or change the configuration", async () => {
    const outcomes: unknown[] = [];
    const { error } = await run("host", {
      usesFiles: true,
      host: async (_, { files }) => {
        for (const act of [
          () => files?.read("/workspace/conf/token"),
          () => files?.write("/workspace/conf/config.yaml", "NEW"),
          () => files?.rename("/workspace/conf", "/workspace/conf2"),
        ])
          outcomes.push(
            await act()?.then(
              () => "done",
              () => "refused",
            ),
          );
        return 1;
      },
    });
    expect(error).toBe(undefined);
    expect(outcomes).toEqual(["refused", "refused", "refused"]);
    expectUntouched();
  });

  test("in QuickJS cannot either", async () => {
    const { output } = await run("quickjs", {
      quickjs: {
        source: `export default (_, { fs }) => [
          () => fs.readFile("/workspace/conf/token"), () => fs.writeFile("/workspace/conf/config.yaml", "NEW"),
          () => fs.rename("/workspace/conf", "/workspace/conf2"), () => fs.readFile("/workspace/conf/config.yaml"),
        ].map((act) => { try { act(); return "done"; } catch (error) { return "refused"; } });`,
      },
    });
    expect(output).toEqual(["refused", "refused", "refused", "done"]);
    expectUntouched();
  });

  test("in WebAssembly cannot either", { timeout: 60_000 }, async () => {
    linkSync(at("conf/token"), at("linked"));
    const wasm = sandboxes.route("wasm");
    const fs = [{ directory: tree.root, at: "/data", write: true }];
    const call = async (tool: string, path: string): Promise<unknown> => {
      const task = wasmTask(await component, tool, path, {
        capabilities: { fs },
        limits: { wallTimeMs: 20_000 },
      });
      const outcome = await (await wasm)?.run(task);
      return outcome?.status === "completed" ? outcome.output : outcome;
    };
    expect(await call("read", "conf/config.yaml")).toBe("OWN");
    for (const path of ["conf/token", "linked", "conf/journal/keys/s1", "conf/journal/journal-1.sealed"])
      expect(await call("read", path), path).toEqual({ error: "not-permitted" });
    for (const tool of ["write", "append", "unlink", "rename", "set_size"]) {
      expect(await call(tool, "conf/config.yaml"), tool).toEqual({ error: "read-only" });
      expect(await call(tool, "conf/token"), tool).toEqual({ error: "not-permitted" });
    }
    expect(await call("rename", "conf")).toEqual({ error: "read-only" });
    rmSync(at("linked"));
    expectUntouched();
  });

  test.skipIf(processUnavailable)(
    "that is a program cannot either, by any name",
    { timeout: 60_000 },
    async () => {
      linkSync(at("conf/token"), at("linked"));
      const script = [
        "cat conf/config.yaml conf/journal/journal-1.jsonl",
        "cat conf/token",
        "cat linked",
        "cat conf/journal/keys/s1",
        "cat conf/journal/journal-1.sealed",
        "cat conf/sessions.db",
        "cat /proc/self/cwd/conf/token",
        "cat /proc/1/root/workspace/conf/token",
        "echo NEW > conf/config.yaml",
        "echo NEW > conf/journal/journal-1.jsonl",
        "echo NEW > conf/journal/journal-2.jsonl",
        "rm -f conf/config.lock",
        "mv conf conf2",
        "mv conf/journal j",
        "ln conf/config.yaml mine",
        "cp -al conf copied/",
        "mkdir -p x && mv -T x conf",
        "tar cf t.tar -C / etc/hostname && tar xf t.tar --transform 's,.*,conf/config.yaml,'",
        "mount --bind x conf",
        'python3 -c \'import ctypes; import sys; sys.exit(ctypes.CDLL(None).renameat2(-100, b"x", -100, b"conf", 2) != 0)\'',
      ];
      const { output, error } = await run("process", {
        process: {
          command: "sh",
          args: () => [
            "-c",
            script
              .map((line) => `(${line}) >/dev/null 2>&1 && echo '${line.replaceAll("'", "")}'`)
              .concat(":")
              .join("\n"),
          ],
          output: "text",
        },
      });
      expect({ output, error }).toEqual({ output: `${script[0]}\n`, error: undefined });
      rmSync(at("linked"));
      expectUntouched();
    },
  );

  test.skipIf(processUnavailable)(
    "that is a program does not create what Sandgate would read",
    { timeout: 60_000 },
    async () => {
      await run("process", {
        process: {
          command: "sh",
          args: () => ["-c", "echo NEW > conf/policy.yaml; echo NEW > conf/sessions.db-wal; :"],
          output: "text",
        },
      });
      expectUntouched();
    },
  );

  test.skipIf(processUnavailable)(
    "that is a program does not connect to the socket of the server",
    { timeout: 60_000 },
    async () => {
      const script = 'print IO::Socket::UNIX->new(Peer => "/workspace/$ARGV[0]") ? "connected" : "refused"';
      const args = (name: string) => ["-MIO::Socket::UNIX", "-e", script, name];
      const connect = (name: string) =>
        run("process", { process: { command: "perl", args: () => args(name), output: "text" } });
      await using executor = await startExecutor({
        registry: new ToolRegistry(),
        sandboxes,
        policy: { check: () => allow({ sandbox: "process" }) },
        listen: `unix:${at("conf/server.sock")}`,
      });
      const other = createServer().listen(at("conf/other.sock"));
      await once(other, "listening");
      onTestFinished(() => void other.close());
      expect(executor.address).toContain("server.sock");
      expect((await connect("conf/other.sock")).output).toBe("connected");
      expect((await connect("conf/server.sock")).output).toBe("refused");
    },
  );

  test.skipIf(processUnavailable)(
    "that is a program does not start with a secret file of its own, or with one to change that it can only read",
    { timeout: 60_000 },
    async () => {
      const cat = { process: { command: "cat", args: () => ["/f"], output: "text" as const } };
      for (const grant of [
        { file: at("conf/token"), at: "/f" },
        { file: at("conf/journal/keys/s1"), at: "/f" },
        { directory: at("conf/journal/keys") },
        { file: at("conf/config.yaml"), at: "/f", write: true },
      ]) {
        expect((await run("process", cat, [grant])).error?.code, JSON.stringify(grant)).toBe(
          "permission_denied",
        );
      }
      expect((await run("process", cat, [{ file: at("conf/config.yaml"), at: "/f" }])).output).toBe("OWN");
    },
  );

  test.skipIf(landlockUnavailable !== undefined)(
    "that is a program on Landlock does not start with a directory that has one",
    { timeout: 60_000 },
    async () => {
      await using landlock = await openSandboxes({ process: { isolation: "landlock" } });
      const cat = (path: string): Partial<Tool> => ({
        process: { command: "cat", args: () => [path], output: "text" },
      });
      linkSync(at("conf/token"), at("linked"));
      mkdirSync(at("other"));
      linkSync(at("conf/token"), at("other/linked"));
      for (const fs of [
        [{ directory: tree.root }],
        [{ directory: at("conf") }],
        [{ directory: at("conf/journal/keys") }],
        [{ directory: at("other") }],
        [{ file: at("conf/token"), at: at("conf/token") }],
        [{ file: at("linked"), at: at("linked") }],
        [{ file: at("conf/config.yaml"), at: at("conf/config.yaml"), write: true }],
      ]) {
        const { error } = await run("process", cat(at("conf/token")), fs, landlock);
        expect(error?.code, JSON.stringify(fs)).toBe("permission_denied");
        expect(error?.message).toMatch(
          /has one of Sandgate's own files, which cannot be hidden from programs here|of Sandgate itself\. Ask/,
        );
      }
      const config = at("conf/config.yaml");
      expect((await run("process", cat(config), [{ file: config, at: config }], landlock)).output).toBe(
        "OWN",
      );
      rmSync(at("linked"));
      expectUntouched();
    },
  );

  test.skipIf(processUnavailable)(
    "that is a program that stays, such as an MCP server or an agent, does not start with one",
    { timeout: 60_000 },
    async () => {
      for (const grant of [
        { directory: tree.root, at: "/workspace", write: true },
        { file: at("conf/token"), at: "/f" },
        { directory: at("conf/journal/keys"), at: "/k" },
      ])
        await expect(
          sandboxes.startConfinedProgram({ command: "cat", args: ["/f"], fs: [grant] }),
          JSON.stringify(grant),
        ).rejects.toThrow(/of Sandgate(?: itself|'s own files)/);
    },
  );

  test.skipIf(processUnavailable || !existsSync("/usr/bin/rg"))(
    "finds nothing of keys and tokens by searching with ripgrep, or without it",
    { timeout: 60_000 },
    async () => {
      linkSync(at("conf/token"), at("linked"));
      writeFileSync(at("mine"), "OWN");
      for (const sandbox of ["process", "host"] as const) {
        const registry = new ToolRegistry();
        for (const tool of toolsOf("search", TOOLSET_OPTIONS.search)) registry.register(tool);
        const { output } = (await engine.dispatch(
          { id: "c1", name: "grep", arguments: { pattern: "OWN|not" } },
          {
            registry,
            policy: { check: () => allow({ sandbox, capabilities: { fs: [{ directory: tree.root }] } }) },
            sandboxes,
            sessionId: "s1",
          },
        )) as ToolExecution;
        const found = JSON.stringify((output as { matches: unknown }).matches);
        expect(found).toContain("mine");
        expect(found).toContain("conf/config.yaml");
        for (const path of [...SECRET, "linked"]) expect(found, `${sandbox}: ${path}`).not.toContain(path);
      }
      rmSync(at("linked"));
    },
  );

  test("sees no more of it after a mount", { timeout: 60_000 }, () => {
    const script = `mkdir -p ${at("m")} && mount --bind ${at("conf")} ${at("m")} && cat /proc/self/mountinfo`;
    let text: string;
    try {
      text = execFileSync("unshare", ["-m", "sh", "-c", script], {
        encoding: "utf8",
        stdio: ["ignore", "pipe", "ignore"],
      });
    } catch {
      console.log("workspace: bind mounts are not tested, they cannot be made here");
      return;
    }
    expect(new MountPoints(text).aliasesOf(at("conf/token"))).toContain(at("m/token"));
  });
});
