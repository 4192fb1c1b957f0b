import { execFileSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
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
import { DirectoryCache } from "../../../src/workspace/open-handles.ts";
import { PathResolver } from "../../../src/workspace/resolve-path.ts";
import { DirectoryGrantError } from "../../../src/workspace/root.ts";
import { Workspace } from "../../../src/workspace/workspace.ts";

let base: string;
let root: string;
let kept: DirectoryCache;

beforeEach(() => {
  kept = new DirectoryCache();
  base = realpathSync(mkdtempSync(join(tmpdir(), "kept-")));
  root = join(base, "root");
  mkdirSync(root);
  writeFileSync(join(root, "a.txt"), "first");
});

afterEach(() => {
  kept[Symbol.dispose]();
  rmSync(base, { recursive: true, force: true });
});

/** The open descriptors of what is in the tree of the test. */
function openInTree(): readonly string[] {
  return readdirSync("/proc/self/fd").filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(base);
    } catch {
      return false;
    }
  });
}

/** Reads `a.txt` as a call does that is granted the directory. */
function read(): string {
  using workspace = new Workspace([{ directory: root }], 0, { directories: kept });
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
    using workspace = new Workspace([{ directory: root }], 0, { directories: kept });
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

  test("is closed with what keeps it, or after its last use", () => {
    const workspace = new Workspace([{ directory: root }], 0, { directories: kept });
    expect(read()).toBe("first");
    expect(openInTree()).toHaveLength(1);
    kept[Symbol.dispose]();
    expect(openInTree()).toHaveLength(1);
    workspace[Symbol.dispose]();
    expect(openInTree()).toEqual([]);
    expect(read()).toBe("first");
    expect(openInTree()).toEqual([]);
  });

  test.skipIf(process.getuid?.() !== 0)(
    "is opened again once a file system is mounted there (needs root)",
    () => {
      expect(read()).toBe("first");
      execFileSync("mount", ["-t", "tmpfs", "none", root]);
      try {
        writeFileSync(join(root, "a.txt"), "mounted");
        expect(read()).toBe("mounted");
      } finally {
        kept[Symbol.dispose]();
        execFileSync("umount", [root]);
      }
    },
  );

  test("does not keep more than a few others from being used", () => {
    for (let index = 0; index < 40; index++) {
      const directory = join(base, `${index}`);
      mkdirSync(directory);
      using workspace = new Workspace([{ directory }], 0, { directories: kept });
      expect(workspace.directories).toHaveLength(1);
    }
    expect(read()).toBe("first");
  });
});
