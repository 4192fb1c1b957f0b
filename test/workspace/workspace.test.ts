import { mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openDirectory } from "../../src/workspace/entries.ts";
import { workspaceIsSupported } from "../../src/workspace/paths.ts";
import { DirectoryGrantError } from "../../src/workspace/root.ts";
import { Workspace } from "../../src/workspace/workspace.ts";
import { ATTEMPTS, codeOf, GrantedTree, listNames, readText, writeText } from "./granted-tree.ts";

const isHere = workspaceIsSupported();
if (!isHere) console.log("workspace: not tested, directories can be granted on Linux only");

let tree: GrantedTree;
beforeEach(() => {
  tree = new GrantedTree();
});
afterEach(() => tree[Symbol.dispose]());

describe.runIf(isHere)("a granted directory", () => {
  test("a granted directory can be read, listed and written, and its entries created, renamed and removed", () => {
    const [directory, workspace] = tree.open();
    expect(readText(directory, "./a/../ok.txt")).toBe("OK");
    expect(readText(directory, "a//in.txt")).toBe("IN");
    directory.createDirectory("new/");
    writeText(directory, "new/f", "hello");
    expect(readFileSync(join(tree.root, "new/f"), "utf8")).toBe("hello");
    expect(listNames(directory, "new/")).toEqual(["f"]);
    expect(openDirectory(directory, "new").list().next()).toEqual({ name: "f", kind: "regular-file" });
    directory.rename("new/f", openDirectory(directory, "a"), "b/g");
    expect(directory.stat("a/b/g")).toMatchObject({ kind: "regular-file", size: 5n });
    directory.removeFile("a/b/g");
    directory.removeDirectory("new/");
    expect(codeOf(() => directory.stat("new"))).toBe("no-entry");
    expect(workspace.writtenBytes).toBe(5);
    expect(workspace.hasChanged).toBe(true);
  });

  test("a granted directory can only be read unless the grant allows writing", () => {
    const [directory, workspace] = tree.open({ write: false });
    expect(readText(directory, "ok.txt")).toBe("OK");
    expect(directory.isWritable).toBe(false);
    const changes = ATTEMPTS.filter(([name]) => !["read", "list", "stat"].includes(name));
    for (const [, attempt] of changes) expect(codeOf(() => attempt(directory, "ok.txt"))).toBe("read-only");
    expect(codeOf(() => writeText(openDirectory(directory, "a"), "new", ""))).toBe("read-only");
    expect(readFileSync(join(tree.root, "ok.txt"), "utf8")).toBe("OK");
    expect(workspace.hasChanged).toBe(false);
  });

  test("files cannot be moved between a writable and a read-only directory", () => {
    mkdirSync(join(tree.base, "second"));
    const grants = [
      { directory: tree.root, write: true },
      { directory: join(tree.base, "second"), at: "/second" },
    ];
    using workspace = new Workspace(grants, 1_024);
    const [first, second] = workspace.directories.map(({ directory }) => directory);
    if (first === undefined || second === undefined)
      throw new Error("fewer than two directories were granted");
    expect(codeOf(() => first.rename("ok.txt", second, "ok.txt"))).toBe("read-only");
    expect(codeOf(() => second.rename("x", first, "x"))).toBe("read-only");
    expect(workspace.directories.map(({ at }) => at)).toEqual(["/", "/second"]);
    expect(readdirSync(join(tree.base, "second"))).toEqual([]);
  });

  test("a granted directory cannot be opened through a link", () => {
    symlinkSync(tree.root, join(tree.base, "link"));
    expect(() => tree.open({ directory: join(tree.base, "link") })).toThrow(DirectoryGrantError);
    expect(() => tree.open({ directory: join(tree.base, "link/a") })).toThrow(
      `is reached through a link: grant '${join(tree.root, "a")}' instead`,
    );
    expect(() => tree.open({ directory: join(tree.base, "gone") })).toThrow(/gone' cannot be opened/);
    expect(() => tree.open({ directory: join(tree.root, "ok.txt") })).toThrow(DirectoryGrantError);
    expect(() => tree.open({ directory: "/proc/self" })).toThrow(DirectoryGrantError);
    expect(() => tree.open({ directory: "/sys" })).toThrow("is on a kernel file system such as /proc");
    expect(() => tree.open({ directory: join(tree.root, "a") })).not.toThrow();
  });

  test("a grant of '/' gives access to all files of the machine, but not to kernel file systems", () => {
    const [directory] = tree.open({ directory: "/", write: false });
    expect(readText(directory, join(tree.root, "ok.txt").slice(1))).toBe("OK");
    expect(codeOf(() => readText(directory, "proc/version"))).toBe("not-permitted");
    expect(codeOf(() => readText(directory, `proc/${process.pid}/environ`))).toBe("not-permitted");
    expect(codeOf(() => readText(directory, `proc/self/cwd/package.json`))).toBe("not-permitted");
    expect(codeOf(() => readText(directory, "dev/null"))).toBe("not-permitted");
  });
});

test("directories can be granted on Linux only", () => {
  expect(workspaceIsSupported()).toBe(process.platform === "linux");
});
