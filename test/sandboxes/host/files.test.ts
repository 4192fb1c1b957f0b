import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { DispatchContext } from "../../../src/engine/call/context.ts";
import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import type { Tool } from "../../../src/engine/tool.ts";
import type { FsGrant } from "../../../src/policy/grant/fs-grant.ts";
import type { ResourceLimits } from "../../../src/policy/grant/limits.ts";
import { allow, type RuntimePolicy } from "../../../src/policy/policy.ts";
import { RulePolicy } from "../../../src/policy/rule/rule-policy.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import type { HostContext } from "../../../src/tool/implementations/implementations.ts";
import type { WorkspaceFiles } from "../../../src/tool/workspace-files.ts";
import { workspaceIsSupported } from "../../../src/workspace/paths.ts";
import { contextFor, dispatchTool, hostTool, recordEvents } from "../../engine/helpers.ts";
import { GrantedTree } from "../../workspace/granted-tree.ts";

const sandboxes = await openSandboxes({ workers: { threads: 1 } });
afterAll(() => sandboxes.close());

let tree: GrantedTree;
beforeEach(() => {
  tree = new GrantedTree();
  onTestFinished(() => tree[Symbol.dispose]());
});

const granting = (fs: readonly FsGrant[], limits: ResourceLimits = {}): RuntimePolicy => ({
  check: () => allow({ sandbox: "host", capabilities: { fs }, limits }),
});
const whole = (): readonly FsGrant[] => [{ directory: tree.root, write: true }];

interface Setting extends Partial<DispatchContext> {
  readonly fs?: readonly FsGrant[];
  readonly limits?: ResourceLimits;
  readonly input?: object;
}

async function dispatch(tool: Tool, { fs, limits, input, ...more }: Setting = {}): Promise<ToolExecution> {
  const policy = granting(fs ?? whole(), limits);
  return dispatchTool(await contextFor([tool], { policy, sandboxes, ...more }), input);
}

/** Runs a tool that gets files. */
function run(act: (files: WorkspaceFiles) => unknown, setting?: Setting): Promise<ToolExecution> {
  const host = (_: object, { files }: HostContext): unknown => {
    if (files === undefined) throw new Error("there are no files");
    return act(files);
  };
  return dispatch(hostTool(host, { usesFiles: true }), setting);
}

describe.skipIf(!workspaceIsSupported())("context.files", () => {
  test("a host tool gets the granted files only if it declares that it uses them", async () => {
    const host = (_: object, { files }: HostContext): unknown => typeof files;
    expect((await dispatch(hostTool(host, { usesFiles: true }))).output).toBe("object");
    expect((await dispatch(hostTool(host))).error).toMatchObject({
      code: "sandbox_unavailable",
      effect: "none",
    });
    const policy: RuntimePolicy = { check: () => allow({ sandbox: "host" }) };
    const without = await dispatchTool(await contextFor([hostTool(host, { usesFiles: true })], { policy }));
    expect(without.output).toBe("undefined");
  });

  test("files are read, written, listed, described, renamed, patched and removed", async () => {
    chmodSync(join(tree.root, "ok.txt"), 0o600);
    const { output, receipt, success } = await run(async (files) => {
      await files.mkdir("new");
      await files.write("new/a.txt", "grüße");
      await files.append("new/a.txt", " 🦊");
      await files.append("new/b.txt", "b");
      await files.writeBytes("new/bytes", Uint8Array.of(0xff, 1));
      await files.write("ok.txt", "$& stays");
      await files.patch("ok.txt", "stays", "$& and $1");
      await files.rename("new/b.txt", "a/b.txt");
      await files.delete("a/b");
      await files.delete("a/in.txt");
      return {
        texts: [
          await files.read("new/a.txt"),
          await files.read("new/../ok.txt"),
          await files.read("a/b.txt"),
        ],
        bytes: [...(await files.readBytes("new/bytes"))],
        stats: [(await files.stat("new/a.txt")).size, (await files.stat("new")).kind],
        exists: [await files.exists("a/b"), await files.exists("a"), await files.exists("ok.txt/x")],
        listed: await files.list("."),
      };
    });
    expect(success).toBe(true);
    expect(output).toEqual({
      texts: ["grüße 🦊", "$& $& and $1", "b"],
      bytes: [255, 1],
      stats: [12, "directory"],
      exists: [false, true, false],
      listed: [
        { name: "a", kind: "directory" },
        { name: "new", kind: "directory" },
        { name: "ok.txt", kind: "file" },
      ],
    });
    expect(receipt.used.fileBytes).toBe(7 + 5 + 1 + 2 + 8 + 12);
    expect(statSync(join(tree.root, "ok.txt")).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(tree.root, "a"))).toEqual(["b.txt"]);
    tree.expectUntouchedOutside();
  });

  test.each([
    "../../etc/passwd",
    "a/../../outside/secret.txt",
    "/etc/passwd",
    "absolute",
    "relative",
    "folder/secret.txt",
    "..",
    "/",
  ])("the path %s escapes: the model reads so, and the operator reads which path it was", async (path) => {
    symlinkSync(join(tree.outside, "secret.txt"), join(tree.root, "absolute"));
    symlinkSync("../outside/secret.txt", join(tree.root, "relative"));
    symlinkSync("../outside", join(tree.root, "folder"));
    const acts: ((files: WorkspaceFiles) => Promise<unknown>)[] = [
      (files) => files.read(path),
      (files) => files.write(path, "OVERWRITTEN"),
      (files) => files.append(path, "MORE"),
      (files) => files.list(path),
      (files) => files.stat(path),
      (files) => files.rename("ok.txt", `${path}/../stolen`),
    ];
    for (const act of acts.slice(0, path.includes("/") || path === ".." ? 6 : 5)) {
      const { events, seen } = recordEvents();
      const { error } = await run(act, { events, unhandledErrors: "redacted" });
      expect(error).toMatchObject({ code: "permission_denied", message: "Path escapes workspace boundary" });
      expect(JSON.stringify(seen.at(-1))).toMatch(/Path '[^']+' escapes workspace boundary/);
      if (act === acts[0]) expect(JSON.stringify(seen.at(-1))).toContain(`Path '${path}' escapes`);
    }
    tree.expectUntouchedOutside();
    expect(readFileSync(join(tree.root, "ok.txt"), "utf8")).toBe("OK");
  });

  test("an absolute path is taken if it lies in a granted directory, or begins where the tool sees one", async () => {
    const fs = [
      { directory: join(tree.root, "a"), at: "/work", write: true },
      { file: join(tree.root, "ok.txt"), at: "/notes/may.txt" },
    ];
    const { output } = await run(
      async (files) => [
        await files.read(join(tree.root, "a/in.txt")),
        await files.read("/work/in.txt"),
        await files.read("work/in.txt"),
        await files.read("in.txt"),
        await files.read(join(tree.root, "ok.txt")),
        await files.read("/notes/may.txt"),
        ...(await Promise.all(
          [join(tree.root, "a.txt"), tree.root, "/work/../ok.txt", "/notes/ok.txt", "/notes"].map((path) =>
            files.list(path).catch(({ name }) => name),
          ),
        )),
      ],
      { fs },
    );
    const escapes = Array(4).fill("WorkspaceEscapeError");
    expect(output).toEqual(["IN", "IN", "IN", "IN", "OK", "OK", ...escapes, "FileFailure"]);
  });

  test.each<[string, (files: WorkspaceFiles) => Promise<unknown>, string]>([
    ["a missing file", (files) => files.read("gone"), "Cannot read 'gone': no such file or directory"],
    ["a directory that is read", (files) => files.read("a"), "Cannot read 'a': the path is a directory"],
    [
      "bytes that are not text",
      (files) => files.read("bytes"),
      "Cannot read 'bytes': the file is not UTF-8 text",
    ],
    [
      "a patch of a text that is missing",
      (files) => files.patch("ok.txt", "x", "y"),
      "Cannot patch 'ok.txt': the text does not occur",
    ],
    [
      "a patch of a text that occurs often",
      (files) => files.patch("bs", "b", "y"),
      "Cannot patch 'bs': the text occurs 3 times",
    ],
    [
      "an empty text that is patched",
      (files) => files.patch("ok.txt", "", "y"),
      "Cannot patch 'ok.txt': the text does not occur",
    ],
  ])("the model reads why %s fails, even where other errors are redacted", async (_case, act, message) => {
    writeFileSync(join(tree.root, "bytes"), Uint8Array.of(0xff));
    writeFileSync(join(tree.root, "bs"), "bbb");
    const { error } = await run(act, { unhandledErrors: "redacted" });
    expect(error).toMatchObject({ code: "execution_error", message, userVisible: true });
    expect(readFileSync(join(tree.root, "ok.txt"), "utf8")).toBe("OK");
  });

  test("a protected file is denied, and a read-only grant changes nothing", async () => {
    onTestFinished(() => tree.expectUntouchedOutside());
    for (const act of [
      (files: WorkspaceFiles) => files.write(".git/hooks/pre-commit", "NEW"),
      (files: WorkspaceFiles) => files.append(".bashrc", "NEW"),
    ]) {
      mkdirSync(join(tree.root, ".git/hooks"), { recursive: true });
      expect((await run(act)).error?.code).toBe("permission_denied");
    }
    const fs = [{ directory: tree.root }];
    for (const act of [
      (files: WorkspaceFiles) => files.write("ok.txt", "NEW"),
      (files: WorkspaceFiles) => files.delete("ok.txt"),
      (files: WorkspaceFiles) => files.rename("ok.txt", "new.txt"),
      (files: WorkspaceFiles) => files.mkdir("new"),
    ]) {
      expect((await run(act, { fs })).error?.message).toMatch(/the granted directory is read-only$/);
    }
    expect(readFileSync(join(tree.root, "ok.txt"), "utf8")).toBe("OK");
  });

  test("a file is read up to 16 MiB, and written within the limit of the call", async () => {
    writeFileSync(join(tree.root, "large"), Buffer.alloc(16 * 2 ** 20, "x"));
    writeFileSync(join(tree.root, "larger"), Buffer.alloc(16 * 2 ** 20 + 1, "x"));
    expect((await run(async (files) => (await files.read("large")).length)).output).toBe(16 * 2 ** 20);
    expect((await run((files) => files.read("larger"))).error?.message).toMatch(/larger than 16 MiB/);
    const setting = { limits: { fileBytes: 4 } };
    const { error, receipt } = await run(async (files) => {
      await files.write("new", "1234");
      await files.write("ok.txt", "5");
    }, setting);
    expect(error?.message).toMatch(/^Cannot write 'ok.txt': no space is left, or the call's limit/);
    expect(receipt.used.fileBytes).toBe(4);
    expect(readFileSync(join(tree.root, "ok.txt"), "utf8")).toBe("OK");
    const undeclared = await dispatch(
      hostTool(() => 1),
      setting,
    );
    expect(undeclared.error?.code).toBe("sandbox_unavailable");
  });

  test("many operations at once neither mix up files nor leave descriptors open", async () => {
    const open = (): number => readdirSync("/proc/self/fd").length;
    await run((files) => files.read("ok.txt"));
    const before = open();
    const names = Array.from({ length: 40 }, (_, index) => `file-${index}`);
    const { output } = await run(async (files) => {
      await Promise.all(names.map((name) => files.write(name, name.repeat(1_000))));
      return Promise.all(names.map(async (name) => (await files.read(name)) === name.repeat(1_000)));
    });
    expect(output).toEqual(names.map(() => true));
    expect(readdirSync(tree.root).sort()).toEqual(["a", ...names, "ok.txt"].sort());
    expect(open()).toBeLessThanOrEqual(before);
  });

  test("nothing changes once the call has ended", async () => {
    let kept: WorkspaceFiles | undefined;
    let late: Promise<unknown> | undefined;
    const { success } = await run((files) => {
      kept = files;
      late = files.write("ok.txt", "LATE".repeat(100_000)).catch(({ message }) => message);
      return 1;
    });
    expect(success).toBe(true);
    expect(await late).toBe("Cannot write 'ok.txt': the call has ended");
    await expect(kept?.read("ok.txt")).rejects.toThrow("the call has ended");
    await expect(kept?.append("ok.txt", "LATE")).rejects.toThrow("the call has ended");
    expect(readFileSync(join(tree.root, "ok.txt"), "utf8")).toBe("OK");
    expect(readdirSync(tree.root).sort()).toEqual(["a", "ok.txt"]);
  });

  test("a call does not run if a granted directory is missing", async () => {
    const { error } = await run(() => 1, { fs: [{ directory: join(tree.base, "none") }] });
    expect(error).toMatchObject({ code: "sandbox_unavailable", effect: "none" });
    expect(error?.message).not.toContain(tree.base);
  });

  test("a module gets the granted files in its thread", async () => {
    const module = new URL("../../fixtures/worker/files.ts", import.meta.url);
    const tool = (name: string): Tool => ({
      name: "tool",
      description: "",
      inputSchema: {},
      usesFiles: true,
      host: { module, export: name },
    });
    const input = { path: "note.txt", text: "remember" };
    const { output, receipt } = await dispatch(tool("note"), { input });
    expect(output).toEqual([
      "remember",
      [
        { name: "a", kind: "directory" },
        { name: "note.txt", kind: "file" },
        { name: "ok.txt", kind: "file" },
      ],
    ]);
    expect(receipt.used.fileBytes).toBe(8);
    const { error } = await dispatch(tool("read"), { input: { path: "../outside/secret.txt" } });
    expect(error).toMatchObject({ code: "permission_denied", message: "Path escapes workspace boundary" });
    const policy: RuntimePolicy = { check: () => allow({ sandbox: "host" }) };
    expect((await dispatchTool(await contextFor([tool("note")], { policy, sandboxes }), input)).output).toBe(
      "no files",
    );
  });

  test("a rule grants the session's workspace, and the file that an argument names in another directory", async () => {
    const policy = new RulePolicy({
      rules: [
        {
          tools: ["tool"],
          effect: "allow",
          sandboxes: ["host"],
          capabilities: {
            fs: [
              { workspace: true, write: true },
              { file: { argument: "/path" }, within: tree.outside, at: "/notes" },
            ],
          },
        },
      ],
    });
    const host = async ({ path }: { path?: string }, { files, workspace }: HostContext): Promise<unknown> => {
      await files?.write("copy.txt", (await files.read(String(path))) ?? "");
      return [workspace, await files?.list(".")];
    };
    const tool = hostTool(host as never, { usesFiles: true });
    const ctx = await contextFor([tool], { policy, sandboxes, workspace: tree.root });
    const { output } = await dispatchTool(ctx, { path: "/notes/secret.txt" });
    expect(output).toMatchObject([tree.root, [{ name: "a" }, { name: "copy.txt" }, { name: "ok.txt" }]]);
    expect(readFileSync(join(tree.root, "copy.txt"), "utf8")).toBe("CANARY");
    const { workspace: _, ...without } = ctx;
    expect((await dispatchTool(without, { path: "/notes/secret.txt" })).error?.code).toBe(
      "permission_denied",
    );
    expect((await dispatchTool(ctx, { path: "/etc/passwd" })).error?.code).toBe("permission_denied");
    tree.expectUntouchedOutside();
  });
});

describe("readRange", () => {
  test("reads parts of files, which are shorter only at the end", async () => {
    const bytes = Buffer.from(Array.from({ length: 700_000 }, (_, index) => index % 251));
    writeFileSync(join(tree.root, "a.bin"), bytes);
    const ranges = [
      [0, 0],
      [0, 10],
      [5, 300_000],
      [699_990, 100],
      [699_999, 1],
      [700_000, 1],
      [800_000, 1],
      [0, 16 * 1_024 * 1_024],
    ] as const;
    const { output } = await run(async (files) => {
      const parts = await Promise.all(
        ranges.map(([offset, length]) => files.readRange("a.bin", offset, length)),
      );
      return parts.map((part) => Buffer.from(part).toString("base64"));
    });
    expect(output).toEqual(
      ranges.map(([offset, length]) => bytes.subarray(offset, offset + length).toString("base64")),
    );
  });

  test("reads a part of a file that is too large to be read as a whole", async () => {
    const size = 20 * 1_024 * 1_024;
    writeFileSync(join(tree.root, "a.bin"), Buffer.alloc(size, "x"));
    const { output } = await run(async (files) => [
      (await files.readRange("a.bin", size - 3, 100)).length,
      await files.readBytes("a.bin").catch((error: Error) => error.message),
    ]);
    expect(output).toEqual([3, expect.stringContaining("it is larger than 16 MiB")]);
  });

  test.each([
    [-1, 1],
    [0.5, 1],
    [0, Number.NaN],
    [0, Number.POSITIVE_INFINITY],
  ])("refuses the offset %d with the length %d", async (offset, length) => {
    const { error } = await run((files) => files.readRange("ok.txt", offset, length));
    expect(error?.message).toContain("only integers from 0");
  });

  test("is held to the grant", async () => {
    const { error } = await run((files) => files.readRange("../outside/secret.txt", 0, 10));
    expect(error?.code).toBe("permission_denied");
  });
});
