import {
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openFile } from "../../../src/workspace/entries.ts";
import { PathResolver } from "../../../src/workspace/resolve-path.ts";
import { DirectoryGrantError } from "../../../src/workspace/root.ts";
import { Workspace } from "../../../src/workspace/workspace.ts";

let base: string;
let root: string;

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "kept-")));
  root = join(base, "root");
  mkdirSync(root);
  writeFileSync(join(root, "a.txt"), "first");
});

afterEach(() => rmSync(base, { recursive: true, force: true }));

/** Reads `a.txt` as a call does that is granted the directory. */
function read(): string {
  using workspace = new Workspace([{ directory: root }], 0);
  const directory = workspace.directories[0]?.directory;
  if (directory === undefined) throw new Error("no directory was granted");
  const file = openFile(directory, "a.txt", { read: true });
  return Buffer.from(file.read(0, 100)).toString();
}

function replaceRoot(): void {
  renameSync(root, join(base, "old"));
  mkdirSync(root);
  writeFileSync(join(root, "a.txt"), "second");
}

describe("A granted directory that stays open between calls", () => {
  test("is opened again once another directory has its path", () => {
    expect(read()).toBe("first");
    replaceRoot();
    expect(read()).toBe("second");
    expect(read()).toBe("second");
  });

  test("is opened again once it was removed and created", () => {
    expect(read()).toBe("first");
    rmSync(root, { recursive: true });
    expect(read).toThrow(DirectoryGrantError);
    mkdirSync(root);
    writeFileSync(join(root, "a.txt"), "second");
    expect(read()).toBe("second");
  });

  test("is refused once its path leads through a link", () => {
    expect(read()).toBe("first");
    renameSync(root, join(base, "old"));
    symlinkSync("old", root);
    expect(read).toThrow(DirectoryGrantError);
  });

  test("stays the same for a call that has begun", () => {
    using workspace = new Workspace([{ directory: root }], 0);
    replaceRoot();
    expect(read()).toBe("second");
    const directory = workspace.directories[0]?.directory;
    expect(directory?.stat("a.txt").size).toBe(5n);
  });

  test("is checked in the same way for declared paths", () => {
    const resolve = (path: string): unknown => {
      using resolver = new PathResolver(root);
      return resolver.resolve(path);
    };
    expect(resolve("a.txt")).toMatchObject({ path: "a.txt" });
    replaceRoot();
    symlinkSync("/etc", join(root, "link"));
    expect(resolve("link/passwd")).toBe("escapes");
    expect(resolve("b/../a.txt")).toMatchObject({ path: "a.txt" });
  });

  test("does not keep more than a few others from being used", () => {
    for (let index = 0; index < 40; index++) {
      const directory = join(base, `${index}`);
      mkdirSync(directory);
      using workspace = new Workspace([{ directory }], 0);
      expect(workspace.directories).toHaveLength(1);
    }
    expect(read()).toBe("first");
  });
});
