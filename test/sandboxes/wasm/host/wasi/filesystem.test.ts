import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import type { JsonValue } from "../../../../../src/json/value.ts";
import type { DirectoryGrant, FsGrant } from "../../../../../src/policy/grant/fs-grant.ts";
import type { ResourceLimits } from "../../../../../src/policy/grant/limits.ts";
import type { SandboxOutcome } from "../../../../../src/sandboxes/contract/outcome.ts";
// Inside: passes wrong types and foreign objects, which code that was compiled from WIT cannot.
import { MisuseError } from "../../../../../src/sandboxes/wasm/host/interface-members.ts";
import { descriptorOf } from "../../../../../src/sandboxes/wasm/host/wasi/descriptor.ts";
import { WasmSandbox } from "../../../../../src/sandboxes/wasm/wasm-sandbox.ts";
import { openFile } from "../../../../../src/workspace/entries.ts";
import { workspaceIsSupported } from "../../../../../src/workspace/paths.ts";
import { filesComponent } from "../../../../fixtures/wasm/files-component.ts";
import { wasmTask } from "../../../../fixtures/wasm/task.ts";
import { GrantedTree } from "../../../../workspace/granted-tree.ts";

const isHere = workspaceIsSupported();
if (!isHere) console.log("wasi:filesystem: not tested, directories can be granted on Linux only");

const cacheDirectory = mkdtempSync(join(tmpdir(), "sandgate-files-"));
const sandbox = new WasmSandbox({ cacheDirectory, workers: { threads: 1 } });
const component = await filesComponent();
afterAll(async () => {
  await sandbox.close();
  rmSync(cacheDirectory, { recursive: true, force: true });
});

let tree: GrantedTree;
beforeEach(() => {
  tree = new GrantedTree();
});
afterEach(() => tree[Symbol.dispose]());

const written = (): DirectoryGrant[] => [{ directory: tree.root, at: "/data", write: true }];
const onlyRead = (): DirectoryGrant[] => [{ directory: tree.root, at: "/data" }];
const contents = (path: string): string => readFileSync(join(tree.root, path), "utf8");

function run(
  tool: string,
  path: string,
  fs: readonly FsGrant[] | undefined,
  limits: ResourceLimits = {},
): Promise<SandboxOutcome> {
  const capabilities = fs === undefined ? {} : { fs };
  return sandbox.run(
    wasmTask(component, tool, path, { capabilities, limits: { wallTimeMs: 5_000, ...limits } }),
  );
}

async function outputOf(...args: Parameters<typeof run>): Promise<JsonValue | undefined> {
  const outcome = await run(...args);
  return outcome.status === "completed" ? outcome.output : outcome.status;
}

test("the capability 'fs' is offered on platforms where directories can be granted, and refused on others", () => {
  expect(sandbox.capabilities.has("fs")).toBe(isHere);
});

describe.runIf(isHere)("a component", () => {
  test("a component sees only the granted directories, at the paths of the grant", async () => {
    const two = [...written(), { directory: tree.outside, at: "/more" }];
    expect(await outputOf("directories", "", two)).toEqual(["/data", "/more"]);
    expect(await outputOf("directories", "", undefined)).toEqual([]);
  });

  test("a component can read, list and stat the entries of granted directories", async () => {
    expect(await outputOf("read", "a/../ok.txt", onlyRead())).toBe("OK");
    expect(await outputOf("read", "gone", onlyRead())).toEqual({ error: "no-entry" });
    expect(await outputOf("read", "a", onlyRead())).toEqual({ error: "is-directory" });
    writeFileSync(join(tree.root, "long.txt"), "0123456789");
    expect(await outputOf("read", "long.txt", onlyRead())).toBe("0123456789");
    expect(await outputOf("read_at", "long.txt", onlyRead())).toEqual(["123", true]);
    expect(await outputOf("list", "a", onlyRead())).toEqual(expect.arrayContaining(["3 b", "6 in.txt"]));
    expect(await outputOf("stat", "long.txt", onlyRead())).toEqual([6, 10, true]);
    expect(await outputOf("flags", ".", onlyRead())).toBe(1);
    expect(await outputOf("same", "ok.txt", onlyRead())).toBe(true);
  });

  test("a component can write to writable directories, and the receipt counts the bytes", async () => {
    expect(await run("write", "new.txt", written())).toMatchObject({
      status: "completed",
      output: true,
      used: { fileBytes: 7 },
    });
    expect(contents("new.txt")).toBe("written");
    expect(await outputOf("append", "new.txt", written())).toBe(true);
    expect(contents("new.txt")).toBe("written and more");
    expect(await outputOf("write_at", "new.txt", written())).toBe(2);
    expect(contents("new.txt")).toBe("wXYtten and more");
    expect(await outputOf("set_size", "new.txt", written())).toBe(true);
    expect(contents("new.txt")).toBe("wX");
    expect(await outputOf("sync", "new.txt", written())).toBe(true);
    expect(await outputOf("mkdir", "d", written())).toBe(true);
    expect(await outputOf("rename", "new.txt", written())).toBe(true);
    expect(await outputOf("rmdir", "d", written())).toBe(true);
    expect(await outputOf("unlink", "new.txt-renamed", written())).toBe(true);
    expect(await outputOf("flags", ".", written())).toBe(33);
    expect(readdirSync(tree.root).sort()).toEqual(["a", "ok.txt"]);
  });

  test("a component cannot change read-only directories", async () => {
    for (const tool of ["write", "append", "write_at", "mkdir", "rmdir", "unlink", "rename", "set_size"]) {
      expect(await outputOf(tool, "ok.txt", onlyRead())).toEqual({ error: "read-only" });
    }
    expect(contents("ok.txt")).toBe("OK");
    expect(await run("write", "ok.txt", onlyRead())).toMatchObject({ effect: "none" });
  });

  test("a component sees a granted file in a directory that has nothing else and cannot be listed", async () => {
    const file = (write: boolean): FsGrant[] => [
      { file: join(tree.root, "ok.txt"), at: "/data/may.txt", write },
    ];
    expect(await outputOf("directories", "", file(false))).toEqual(["/data"]);
    expect(await outputOf("read", "may.txt", file(false))).toBe("OK");
    expect(await outputOf("stat", "may.txt", file(false))).toEqual([6, 2, true]);
    expect(await outputOf("list", ".", file(false))).toEqual({ error: "not-permitted" });
    for (const path of ["ok.txt", "a/in.txt", "../outside/secret.txt"]) {
      expect(await outputOf("read", path, file(true))).toEqual({ error: "not-permitted" });
      expect(await outputOf("write", path, file(true))).toEqual({ error: "not-permitted" });
    }
    expect(await outputOf("write", "may.txt", file(false))).toEqual({ error: "read-only" });
    expect(await outputOf("write", "may.txt", file(true))).toBe(true);
    for (const tool of ["unlink", "rename", "mkdir", "rmdir"]) {
      expect(await outputOf(tool, "may.txt", file(true))).toEqual({ error: "not-permitted" });
    }
    expect(contents("ok.txt")).toBe("written");
    expect(readdirSync(tree.root).sort()).toEqual(["a", "ok.txt"]);
  });

  test("a component cannot create links or set times", async () => {
    expect(await outputOf("symlink", "l", written())).toEqual({ error: "not-permitted" });
    expect(await outputOf("link", "l", written())).toEqual({ error: "not-permitted" });
    expect(await outputOf("set_times", "ok.txt", written())).toEqual({ error: "unsupported" });
    symlinkSync("ok.txt", join(tree.root, "l"));
    expect(await outputOf("readlink", "l", written())).toBe("ok.txt");
    expect(await outputOf("read", "l", written())).toBe("OK");
    expect(await outputOf("lstat", "l", written())).toEqual([5, 6, true]);
  });

  test.each([
    "read",
    "write",
    "append",
    "list",
    "stat",
    "mkdir",
    "rmdir",
    "unlink",
    "rename",
    "readlink",
  ])("a component cannot %s anything outside its directories", async (tool) => {
    symlinkSync("../outside", join(tree.root, "d"));
    for (const path of ["../outside/secret.txt", join(tree.outside, "secret.txt"), "d/secret.txt"]) {
      expect(await outputOf(tool, path, written())).toEqual({ error: "not-permitted" });
    }
    tree.expectUntouchedOutside();
  });

  test("a component cannot escape by replacing a directory that it has open with a link", async () => {
    symlinkSync("../outside", join(tree.root, "link"));
    expect(await outputOf("exploit", "a", written())).toEqual(["no-entry", "not-permitted", ""]);
    expect(readdirSync(join(tree.root, "elsewhere")).sort()).toEqual(["b", "in.txt"]);
    tree.expectUntouchedOutside();
  });

  test("a component writes at most as many bytes as its limit", async () => {
    const limits = { fileBytes: 4_000 };
    expect(await outputOf("write_much", "much.txt", written(), limits)).toEqual({
      error: "insufficient-space",
    });
    expect(contents("much.txt")).toBe("");
    expect(await outputOf("write_much", "much.txt", written(), { fileBytes: 4_096 })).toBe(true);
    expect(contents("much.txt")).toHaveLength(4_096);
  });

  test("the number of files that a component has open at once is limited", async () => {
    expect(await outputOf("read_many", "ok.txt", onlyRead())).toEqual({ error: "insufficient-memory" });
    expect(await outputOf("read", "ok.txt", onlyRead())).toBe("OK");
  });

  test("the effect of a failed component is unknown if it wrote, and none if it did not", async () => {
    expect(await run("write_and_trap", "new.txt", written())).toMatchObject({
      status: "failed",
      effect: "unknown",
    });
    const limits = { wallTimeMs: 500 };
    expect(await run("write_and_loop", "new.txt", written(), limits)).toMatchObject({
      status: "timeout",
      effect: "unknown",
    });
    expect(await run("none", "new.txt", written())).toMatchObject({ status: "failed", effect: "none" });
    expect(await run("read", "ok.txt", written())).toMatchObject({ status: "completed", effect: "none" });
  });

  test("a component leaves no files open, however it ends", async () => {
    const openInTree = (): readonly string[] =>
      readdirSync("/proc/self/fd").filter((fd) => {
        try {
          return readlinkSync(`/proc/self/fd/${fd}`).startsWith(tree.base);
        } catch {
          return false;
        }
      });
    const limits = { wallTimeMs: 500 };
    for (const tool of ["read", "read_many", "write_and_trap", "exploit", "write_and_loop"]) {
      await run(tool, "ok.txt", written(), limits);
      expect(openInTree()).toEqual([]);
    }
  });

  test("each call may write up to its limit, even if calls share an instance", async () => {
    const task = () =>
      wasmTask(component, "write", "new.txt", {
        capabilities: { fs: written(), reuse: "instance" },
        limits: { wallTimeMs: 5_000, fileBytes: 7 },
      });
    for (const instance of ["fresh", "reused"]) {
      expect(await sandbox.run(task())).toMatchObject({ output: true, used: { instance, fileBytes: 7 } });
    }
  });

  test("a component that declares wrong types for the interface is ended and reaches nothing", () => {
    const [directory] = tree.open();
    const descriptor = descriptorOf(directory);
    const writer = () => descriptorOf(openFile(directory, "ok.txt", { write: true })).writeViaStream(0n);
    const lies: readonly (() => unknown)[] = [
      () => descriptor.openAt([], 5 as never, [], []),
      () => descriptor.unlinkFileAt(["ok.txt"] as never),
      () => descriptorOf(openFile(directory, "ok.txt", { write: true })).write("text" as never, 0n),
      () => descriptorOf(openFile(directory, "ok.txt", { write: true })).setSize(0 as never),
      () => writer().write("text" as never),
      // Its number of bytes could not be counted.
      () => writer().write({ length: "much" } as never),
      () => writer().blockingWriteAndFlush([1, 2, 3] as never),
    ];
    const foreign: readonly (() => unknown)[] = [
      () => descriptor.openAt(undefined as never, "ok.txt", [], ["read"]),
      () => descriptor.renameAt("ok.txt", { "#node": directory } as never, "b"),
      () => descriptor.isSameObject(descriptorOf as never),
    ];
    for (const lie of lies) expect(lie).toThrow(MisuseError);
    for (const lie of foreign) expect(lie).toThrow(TypeError);
    expect(contents("ok.txt")).toBe("OK");
  });

  test("without the grant, a component starts but cannot use files", async () => {
    expect(await run("read", "ok.txt", undefined)).toMatchObject({ status: "failed", effect: "none" });
    expect(await outputOf("directories", "", undefined)).toEqual([]);
  });

  test("a component does not start if a granted directory does not exist or is reached through a link", async () => {
    mkdirSync(join(tree.base, "other"));
    symlinkSync("other", join(tree.base, "link"));
    for (const name of ["gone", "link"]) {
      expect(await run("directories", "", [{ directory: join(tree.base, name) }])).toMatchObject({
        status: "unavailable",
        effect: "none",
        detail: expect.stringContaining("granted directory"),
      });
    }
    expect(await outputOf("directories", "", [{ directory: join(tree.base, "other") }])).toEqual(["/"]);
  });
});
