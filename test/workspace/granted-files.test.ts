import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { FileGrant } from "../../src/policy/grant/fs-grant.ts";
import { openFile } from "../../src/workspace/entries.ts";
import { locate } from "../../src/workspace/locate.ts";
import { workspaceIsSupported } from "../../src/workspace/paths.ts";
import { DirectoryGrantError } from "../../src/workspace/root.ts";
import type { ToolDirectory } from "../../src/workspace/tool-directory.ts";
import { Workspace } from "../../src/workspace/workspace.ts";
import { ATTEMPTS, codeOf, GrantedTree, readText, writeText } from "./granted-tree.ts";

let tree: GrantedTree;
let opened: Workspace[] = [];
beforeEach(() => {
  tree = new GrantedTree();
});
afterEach(() => {
  for (const workspace of opened) workspace[Symbol.dispose]();
  opened = [];
  tree[Symbol.dispose]();
});

/** Opens the directory that a tool sees around a file of the tree. */
function open(file: string, grant: Partial<FileGrant> = {}): ToolDirectory {
  const workspace = new Workspace([{ file: join(tree.root, file), within: tree.root, ...grant }], 1_000);
  opened.push(workspace);
  const [mounted] = workspace.directories;
  if (mounted === undefined) throw new Error("nothing was granted");
  return mounted.directory;
}

describe.skipIf(!workspaceIsSupported())("a granted file", () => {
  test("a granted file can be read, and nothing else in its directory", () => {
    writeFileSync(join(tree.root, "a/sibling.txt"), "SIBLING");
    const directory = open("a/in.txt");
    expect(readText(directory, "in.txt")).toBe("IN");
    expect(readText(directory, "./in.txt")).toBe("IN");
    expect(directory.stat("in.txt")).toMatchObject({ kind: "regular-file", size: 2n });
    expect(directory.isWritable).toBe(false);
    const others = ["sibling.txt", "b", "ok.txt", "..", "../ok.txt", "in.txt/..", "in.txt/../sibling.txt"];
    for (const path of [...others, "/etc/passwd", "in.txt\0", "IN.TXT", "in.tx"]) {
      for (const [, attempt] of ATTEMPTS) expect(codeOf(() => attempt(directory, path))).toMatch(/^[a-z-]+$/);
    }
    expect(readFileSync(join(tree.root, "a/sibling.txt"), "utf8")).toBe("SIBLING");
    expect(readdirSync(join(tree.root, "a")).sort()).toEqual(["b", "in.txt", "sibling.txt"]);
  });

  test("the directory around a granted file cannot be listed, and tells nothing of the real one", () => {
    const directory = open("a/in.txt");
    expect(codeOf(() => directory.list())).toBe("not-permitted");
    const stat = { kind: "directory", size: 0n, links: 1n, modifiedAt: 0n };
    expect(directory.statSelf()).toMatchObject(stat);
    expect(directory.stat(".")).toMatchObject(stat);
    expect(codeOf(() => directory.readLink("in.txt"))).toBe("invalid");
    expect(directory.open(".", { directory: true })).toBe(directory);
    expect(codeOf(() => directory.open(".", { write: true }))).toBe("is-directory");
  });

  test("a granted file can only be read unless the grant allows writing", () => {
    const directory = open("a/in.txt");
    expect(codeOf(() => writeText(directory, "in.txt", "NEW"))).toBe("read-only");
    expect(codeOf(() => directory.replace("in.txt"))).toBe("read-only");
    expect(readFileSync(join(tree.root, "a/in.txt"), "utf8")).toBe("IN");
  });

  test("a writable file can be written, replaced and created, but neither removed nor renamed", () => {
    const directory = open("a/in.txt", { write: true });
    writeText(directory, "in.txt", "NEW");
    expect(readText(directory, "in.txt")).toBe("NEW");
    {
      using replacement = directory.replace("in.txt");
      replacement.file.write(0, Buffer.from("NEWER"));
      replacement.commit();
    }
    expect(readFileSync(join(tree.root, "a/in.txt"), "utf8")).toBe("NEWER");
    rmSync(join(tree.root, "a/in.txt"));
    expect(codeOf(() => readText(directory, "in.txt"))).toBe("no-entry");
    expect(codeOf(() => directory.replace("in.txt"))).toBe("no-entry");
    writeText(directory, "in.txt", "AGAIN");
    const [real] = tree.open();
    for (const attempt of [
      () => directory.removeFile("in.txt"),
      () => directory.removeDirectory("in.txt"),
      () => directory.createDirectory("new"),
      () => directory.rename("in.txt", directory, "in.txt"),
      () => real.rename("ok.txt", directory, "in.txt"),
    ]) {
      expect(codeOf(attempt)).toBe("not-permitted");
    }
    expect(readFileSync(join(tree.root, "a/in.txt"), "utf8")).toBe("AGAIN");
    expect(readdirSync(tree.root).sort()).toEqual(["a", "ok.txt"]);
  });

  test("no part of the path of a granted file may be a link, wherever it leads", () => {
    symlinkSync("ok.txt", join(tree.root, "link"));
    symlinkSync("../outside/secret.txt", join(tree.root, "out"));
    symlinkSync("a", join(tree.root, "folder"));
    symlinkSync(tree.outside, join(tree.root, "away"));
    for (const file of ["link", "out", "folder/in.txt", "away/secret.txt"]) {
      const directory = open(file, { write: true });
      const name = file.split("/").at(-1) ?? "";
      expect(codeOf(() => readText(directory, name))).toMatch(/^(loop|not-permitted)$/);
      expect(codeOf(() => writeText(directory, name, "OVERWRITTEN"))).toMatch(/^(loop|not-permitted)$/);
      expect(codeOf(() => directory.replace(name, { create: true }))).toMatch(/^(loop|not-permitted)$/);
      expect(codeOf(() => directory.stat(name))).toMatch(/^(loop|not-permitted)$/);
    }
    tree.expectUntouchedOutside();
    symlinkSync(tree.root, join(tree.base, "through"));
    const within = join(tree.base, "through");
    expect(() => open("ok.txt", { file: join(within, "ok.txt"), within })).toThrow(DirectoryGrantError);
    rmSync(within);
  });

  test("a directory that is swapped for a link afterwards does not lead elsewhere", () => {
    mkdirSync(join(tree.outside, "a"));
    writeFileSync(join(tree.outside, "a/in.txt"), "CANARY");
    const directory = open("a/in.txt", { write: true });
    expect(readText(directory, "in.txt")).toBe("IN");
    renameSync(join(tree.root, "a"), join(tree.root, "kept"));
    symlinkSync("../outside/a", join(tree.root, "a"));
    expect(codeOf(() => readText(directory, "in.txt"))).toBe("loop");
    expect(codeOf(() => writeText(directory, "in.txt", "OVERWRITTEN"))).toBe("loop");
    expect(readFileSync(join(tree.outside, "a/in.txt"), "utf8")).toBe("CANARY");
  });

  test("a granted path that is not a file is never opened", () => {
    const directory = open("a/b", { write: true });
    expect(codeOf(() => directory.open("b"))).toBe("is-directory");
    expect(codeOf(() => directory.open("b", { directory: true }))).toBe("is-directory");
    expect(codeOf(() => directory.stat("b"))).toBe("not-permitted");
    const missing = open("gone/x.txt", { write: true });
    expect(codeOf(() => writeText(missing, "x.txt", "NEW"))).toBe("no-entry");
  });

  test("files in one directory are seen in one, and each keeps its own access", () => {
    const workspace = new Workspace(
      [
        { file: join(tree.root, "ok.txt"), at: "/work/ok.txt", write: true },
        { file: join(tree.root, "a/in.txt"), at: "/work/in.txt" },
        { directory: tree.outside, at: "/work/deep" },
      ],
      1_000,
    );
    opened.push(workspace);
    expect(workspace.directories.map(({ at }) => at)).toEqual(["/work/deep", "/work"]);
    const at = (path: string) => locate(workspace.directories, path);
    const work = at("/work/ok.txt").directory;
    writeText(work, at("/work/ok.txt").path, "NEW");
    expect(readText(at("/work/in.txt").directory, "in.txt")).toBe("IN");
    expect(codeOf(() => writeText(work, "in.txt", "NEW"))).toBe("read-only");
    expect(readText(at("/work/deep/secret.txt").directory, "secret.txt")).toBe("CANARY");
    expect(codeOf(() => at("/other/ok.txt"))).toBe("not-permitted");
  });

  test("a protected file can be written only if the grant names it, not if an argument does", () => {
    const file = join(tree.root, ".bashrc");
    writeFileSync(file, "OLD");
    expect(codeOf(() => writeText(open(".bashrc", { write: true }), ".bashrc", "NEW"))).toBe("not-permitted");
    expect(readFileSync(file, "utf8")).toBe("OLD");
    const workspace = new Workspace([{ file, write: true }], 1_000);
    opened.push(workspace);
    openFile(locate(workspace.directories, "/.bashrc").directory, ".bashrc", { write: true }).close();
    writeText(locate(workspace.directories, "/.bashrc").directory, ".bashrc", "NEW");
    expect(readFileSync(file, "utf8")).toBe("NEW");
  });
});
