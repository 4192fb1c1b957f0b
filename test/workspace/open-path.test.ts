import { spawnSync } from "node:child_process";
import {
  chmodSync,
  linkSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openDirectory, openFile } from "../../src/workspace/entries.ts";
import { workspaceIsSupported } from "../../src/workspace/paths.ts";
import {
  ATTEMPTS,
  CAN_GIVE_AWAY,
  codeOf,
  GrantedTree,
  giveAway,
  readText,
  textOf,
  writeText,
} from "./granted-tree.ts";

const isHere = workspaceIsSupported();
if (!isHere) console.log("workspace: not tested, directories can be granted on Linux only");

let tree: GrantedTree;
beforeEach(() => {
  tree = new GrantedTree();
});
afterEach(() => tree[Symbol.dispose]());

describe.runIf(isHere)("entries that are not regular files", () => {
  test.runIf(CAN_GIVE_AWAY)("a file of another user with a second hard link is not opened", () => {
    giveAway(join(tree.outside, "secret.txt"));
    linkSync(join(tree.outside, "secret.txt"), join(tree.root, "hard"));
    const [directory] = tree.open();
    expect(() => readText(directory, "hard")).toThrow(
      /several names \(hard links\) and belongs to another user/,
    );
    expect(codeOf(() => writeText(directory, "hard", "OVERWRITTEN"))).toBe("not-permitted");
    expect(codeOf(() => directory.replace("hard"))).toBe("not-permitted");
    tree.expectUntouchedOutside();
    directory.removeFile("hard");
    tree.expectUntouchedOutside();
  });

  test("a file of this user with several hard links can be read, and a write leaves its other names as they were", () => {
    const [directory, workspace] = tree.open();
    for (const name of ["whole", "end", "part", "grown", "new"]) {
      writeFileSync(join(tree.outside, name), "STORED");
      chmodSync(join(tree.outside, name), 0o640);
      linkSync(join(tree.outside, name), join(tree.root, name));
      expect(readText(directory, name)).toBe("STORED");
      expect(directory.stat(name)).toMatchObject({ kind: "regular-file", size: 6n, links: 2n });
    }
    writeText(directory, "whole", "NEW");
    const end = openFile(directory, "end", { write: true }).openForAppending();
    end.write(Buffer.from(" MORE"));
    const part = openFile(directory, "part", { read: true, write: true });
    part.write(2, Buffer.from("??"));
    openFile(directory, "grown", { write: true }).resize(8);
    {
      using version = directory.replace("new");
      version.file.write(0, Buffer.from("NEWER"));
      version.commit();
    }
    const texts = ["whole", "end", "part", "grown", "new"].map((name) =>
      readFileSync(join(tree.root, name), "utf8"),
    );
    expect(texts).toEqual(["NEW", "STORED MORE", "ST??ED", "STORED\0\0", "NEWER"]);
    expect(textOf(part.read(0, 10))).toBe("ST??ED");
    for (const name of ["whole", "end", "part", "grown", "new"]) {
      expect(readFileSync(join(tree.outside, name), "utf8")).toBe("STORED");
      expect(statSync(join(tree.root, name))).toMatchObject({ nlink: 1, mode: 0o100640 });
      rmSync(join(tree.outside, name));
    }
    expect(workspace.changes?.files.map(({ path, change }) => [path, change]).sort()).toEqual(
      ["end", "grown", "new", "part", "whole"].map((name) => [name, "modified"]),
    );
  });

  test("a copy for a write counts among the bytes that the call may write", () => {
    writeFileSync(join(tree.outside, "big"), "x".repeat(1_000));
    linkSync(join(tree.outside, "big"), join(tree.root, "big"));
    const [directory] = tree.open({}, 999);
    expect(codeOf(() => openFile(directory, "big", { write: true }))).toBe("insufficient-space");
    expect(statSync(join(tree.root, "big")).nlink).toBe(2);
    expect(readdirSync(tree.root).sort()).toEqual(["a", "big", "ok.txt"]);
    rmSync(join(tree.outside, "big"));
  });

  test("a FIFO or socket is never opened, so opening it cannot block", async () => {
    expect(spawnSync("sh", ["-c", `mkfifo "$0"`, join(tree.root, "p")]).status).toBe(0);
    const server = createServer().listen(join(tree.root, "s"));
    await new Promise((resolve) => server.once("listening", resolve));
    const [directory] = tree.open();
    for (const name of ["p", "s"]) {
      expect(() => readText(directory, name)).toThrow(
        /^the path is a (named pipe|socket), which is never opened$/,
      );
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
