import {
  appendFileSync,
  chmodSync,
  closeSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import {
  DirectorySnapshot,
  SnapshotError,
  type SnapshotPlace,
} from "../../src/workspace/directory-snapshot.ts";
import { ENTRY_FLAGS, workspaceIsSupported } from "../../src/workspace/paths.ts";
import { GrantedTree } from "./granted-tree.ts";

let tree: GrantedTree;
let places: SnapshotPlace[];
beforeEach(() => {
  tree = new GrantedTree();
  const fd = openSync(tree.root, ENTRY_FLAGS);
  places = [{ fd, isDirectory: true, shownAs: (path) => path }];
  onTestFinished(() => {
    closeSync(fd);
    tree[Symbol.dispose]();
  });
});

async function changesOf(act: () => void): Promise<readonly string[]> {
  const before = await DirectorySnapshot.take(places);
  act();
  const after = await DirectorySnapshot.take(places);
  return before
    .changesTo(after)
    .map(({ path, change, bytes }) => `${change} ${path} ${bytes}`)
    .sort();
}

describe.skipIf(!workspaceIsSupported())("Two snapshots of a directory differ in", () => {
  test("nothing, if nothing was changed", async () => {
    expect(await changesOf(() => {})).toEqual([]);
  });

  test("files that were created, modified, deleted and renamed, at any depth", async () => {
    const path = (name: string): string => join(tree.root, name);
    const changes = await changesOf(() => {
      mkdirSync(path("x/y"), { recursive: true });
      writeFileSync(path("x/y/new.txt"), "123");
      appendFileSync(path("ok.txt"), "!");
      renameSync(path("a/in.txt"), path("a/out.txt"));
      symlinkSync("/etc/passwd", path("link"));
    });
    expect(changes).toEqual([
      "created a/out.txt 2",
      "created link 11",
      "created x/y/new.txt 3",
      "deleted a/in.txt 0",
      "modified ok.txt 3",
    ]);
  });

  test("directories in which nothing else was changed", async () => {
    const path = (name: string): string => join(tree.root, name);
    mkdirSync(path("old/older"), { recursive: true });
    expect(
      await changesOf(() => {
        mkdirSync(path("new/newer"), { recursive: true });
        mkdirSync(path("full"));
        writeFileSync(path("full/file"), "");
        rmSync(path("old"), { recursive: true });
        rmSync(path("a"), { recursive: true });
      }),
    ).toEqual([
      "created full/file 0",
      "created new/newer/ 0",
      "deleted a/b/ 0",
      "deleted a/in.txt 0",
      "deleted old/older/ 0",
    ]);
  });

  test("what git runs, besides the folder of git as a whole", async () => {
    const path = (name: string): string => join(tree.root, ".git", name);
    mkdirSync(path("objects/ab"), { recursive: true });
    writeFileSync(path("HEAD"), "ref: refs/heads/main");
    expect(await changesOf(() => mkdirSync(path("hooks")))).toEqual(["created .git/hooks/ 0"]);
    expect(await changesOf(() => writeFileSync(path("hooks/pre-commit"), "123"))).toEqual([
      "created .git/hooks/pre-commit 3",
    ]);
    expect(await changesOf(() => appendFileSync(path("hooks/pre-commit"), "4"))).toEqual([
      "modified .git/hooks/pre-commit 4",
    ]);
    expect(await changesOf(() => writeFileSync(path("commondir"), "x"))).toEqual(["modified .git/ 0"]);
    expect(await changesOf(() => mkdirSync(path("objects/cd")))).toEqual([]);
  });

  test("a file that was replaced by one of the same size, or whose mode was changed", async () => {
    const changes = await changesOf(() => {
      unlinkSync(join(tree.root, "ok.txt"));
      writeFileSync(join(tree.root, "ok.txt"), "NO");
      chmodSync(join(tree.root, "a/in.txt"), 0o600);
    });
    expect(changes).toEqual(["modified a/in.txt 2", "modified ok.txt 2"]);
  });

  test("`.git` as a whole, but not in what no git command reads first", async () => {
    mkdirSync(join(tree.root, ".git/objects"), { recursive: true });
    writeFileSync(join(tree.root, ".git/HEAD"), "ref: refs/heads/main");
    expect(await changesOf(() => writeFileSync(join(tree.root, ".git/objects/1"), "x"))).toEqual([]);
    expect(await changesOf(() => writeFileSync(join(tree.root, ".git/HEAD"), "ref: refs/heads/x"))).toEqual([
      "modified .git/ 0",
    ]);
    expect(await changesOf(() => rmSync(join(tree.root, ".git"), { recursive: true }))).toEqual([
      "deleted .git/ 0",
    ]);
  });

  test("a single file that is looked at", async () => {
    const fd = openSync(join(tree.root, "ok.txt"), ENTRY_FLAGS);
    onTestFinished(() => closeSync(fd));
    places = [{ fd, isDirectory: false, shownAs: () => "files/ok.txt" }];
    expect(await changesOf(() => appendFileSync(join(tree.root, "ok.txt"), "!"))).toEqual([
      "modified files/ok.txt 3",
    ]);
  });
});

describe.skipIf(!workspaceIsSupported())("A snapshot", () => {
  test("never leaves the directory through a link", async () => {
    symlinkSync("../outside", join(tree.root, "out"));
    expect(await changesOf(() => appendFileSync(join(tree.outside, "secret.txt"), ""))).toEqual([]);
    expect(await changesOf(() => writeFileSync(join(tree.outside, "more.txt"), ""))).toEqual([]);
    rmSync(join(tree.outside, "more.txt"));
  });

  test("fails if there are more files than it may look at, or it takes longer than it may", async () => {
    for (let index = 0; index < 300; index++) writeFileSync(join(tree.root, `f${index}`), "");
    await expect(DirectorySnapshot.take(places, { entries: 100 })).rejects.toThrow(
      new SnapshotError("there are more than 100 files and directories"),
    );
    await expect(DirectorySnapshot.take(places, { timeMs: 0 })).rejects.toThrow("it took too long");
  });

  test("fails if directories are nested too deep", async () => {
    mkdirSync(join(tree.root, "d/".repeat(130)), { recursive: true });
    await expect(DirectorySnapshot.take(places)).rejects.toThrow("directories are more than 128 deep");
  });
});
