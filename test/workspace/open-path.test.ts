import { spawnSync } from "node:child_process";
import { linkSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openDirectory } from "../../src/workspace/entries.ts";
import { workspaceIsSupported } from "../../src/workspace/paths/fd-path.ts";
import { ATTEMPTS, codeOf, GrantedTree, readText, writeText } from "./granted-tree.ts";

const isHere = workspaceIsSupported();
if (!isHere) console.log("workspace: not tested, directories can be granted on Linux only");

let tree: GrantedTree;
beforeEach(() => {
  tree = new GrantedTree();
});
afterEach(() => tree[Symbol.dispose]());

describe.runIf(isHere)("entries that are not regular files", () => {
  test("a file with a second hard link, which may be outside, is not opened", () => {
    linkSync(join(tree.outside, "secret.txt"), join(tree.root, "hard"));
    const [directory] = tree.open();
    expect(codeOf(() => readText(directory, "hard"))).toBe("not-permitted");
    expect(codeOf(() => directory.stat("hard"))).toBe("not-permitted");
    expect(codeOf(() => writeText(directory, "hard", "OVERWRITTEN"))).toBe("not-permitted");
    tree.expectUntouchedOutside();
    directory.removeFile("hard");
    tree.expectUntouchedOutside();
  });

  test("a FIFO or socket is never opened, so opening it cannot block", async () => {
    expect(spawnSync("sh", ["-c", `mkfifo "$0"`, join(tree.root, "p")]).status).toBe(0);
    const server = createServer().listen(join(tree.root, "s"));
    await new Promise((resolve) => server.once("listening", resolve));
    const [directory] = tree.open();
    for (const name of ["p", "s"]) {
      expect(codeOf(() => readText(directory, name))).toBe("not-permitted");
      expect(codeOf(() => writeText(directory, name, "x"))).toBe("not-permitted");
    }
    expect(directory.stat("p")).toMatchObject({ kind: "fifo" });
    expect(directory.stat("s")).toMatchObject({ kind: "socket" });
    server.close();
  });

  test("a directory cannot be used as a file, nor a file as a directory", () => {
    const [directory] = tree.open();
    expect(codeOf(() => writeText(directory, "a", "x"))).toBe("is-directory");
    expect(codeOf(() => directory.open("ok.txt", { directory: true }))).toBe("not-directory");
    expect(codeOf(() => directory.removeFile("a/b"))).toBe("is-directory");
    expect(codeOf(() => directory.removeDirectory("ok.txt"))).toBe("not-directory");
    expect(codeOf(() => directory.removeDirectory("a"))).toBe("not-empty");
    expect(codeOf(() => directory.createDirectory("a"))).toBe("exist");
    expect(codeOf(() => directory.createDirectory("a/."))).toBe("exist");
    expect(codeOf(() => directory.open("ok.txt", { write: true, create: true, exclusive: true }))).toBe(
      "exist",
    );
  });

  test("a name that no path can contain is left out of listings", () => {
    writeFileSync(Buffer.concat([Buffer.from(`${tree.root}/a/b/`), Buffer.from([0xff])]), "");
    writeFileSync(`${tree.root}/a/b/back\\slash`, "");
    writeFileSync(`${tree.root}/a/b/é`, "");
    const listing = openDirectory(tree.open()[0], "a/b").list();
    expect([listing.next(), listing.next()]).toEqual([{ name: "é", kind: "regular-file" }, undefined]);
  });
});

describe.runIf(isHere)("a workspace that others change", () => {
  test("an open directory stays the same if it is renamed and replaced", () => {
    const [directory] = tree.open();
    const a = openDirectory(directory, "a");
    renameSync(join(tree.root, "a"), join(tree.root, "moved"));
    symlinkSync("../outside", join(tree.root, "a"));
    expect(readText(a, "in.txt")).toBe("IN");
    writeText(a, "new.txt", "new");
    expect(readFileSync(join(tree.root, "moved/new.txt"), "utf8")).toBe("new");
    expect(codeOf(() => readText(directory, "a/secret.txt"))).toBe("not-permitted");
    tree.expectUntouchedOutside();
  });

  test("an open directory cannot be used after it is moved out of the granted one", () => {
    const [directory] = tree.open();
    const b = openDirectory(directory, "a/b");
    renameSync(join(tree.root, "a"), join(tree.outside, "a"));
    for (const [, attempt] of ATTEMPTS) expect(codeOf(() => attempt(b, "x"))).toBe("not-permitted");
    expect(codeOf(() => b.list())).toBe("not-permitted");
    renameSync(join(tree.outside, "a"), join(tree.root, "a"));
    expect(codeOf(() => writeText(b, "x", ""))).toEqual({ returned: undefined });
  });

  test("operations in an open directory that was deleted fail with no-entry", () => {
    const [directory] = tree.open();
    const b = openDirectory(directory, "a/b");
    rmSync(join(tree.root, "a"), { recursive: true });
    expect(codeOf(() => writeText(b, "x", ""))).toBe("no-entry");
  });
});
