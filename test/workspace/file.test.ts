import { chmodSync, existsSync, readdirSync, readFileSync, readlinkSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ChangeBudget, MAX_CREATED } from "../../src/workspace/change-budget.ts";
import { openFile } from "../../src/workspace/entries.ts";
import { MAX_READ_BYTES } from "../../src/workspace/file.ts";
import { MAX_OPEN } from "../../src/workspace/open-handles.ts";
import { workspaceIsSupported } from "../../src/workspace/paths.ts";
import { codeOf, GrantedTree, readText, textOf } from "./granted-tree.ts";

const isHere = workspaceIsSupported();
if (!isHere) console.log("workspace: not tested, directories can be granted on Linux only");

let tree: GrantedTree;
beforeEach(() => {
  tree = new GrantedTree();
});
afterEach(() => tree[Symbol.dispose]());

describe.runIf(isHere)("the limits of a workspace", () => {
  test("a call cannot write more than its limit, including gaps and zeros", () => {
    const [directory, workspace] = tree.open({}, 10);
    const f = openFile(directory, "f", { read: true, write: true, create: true });
    f.write(0, Buffer.from("1234567"));
    expect(codeOf(() => f.write(7, Buffer.from("1234")))).toBe("insufficient-space");
    expect(codeOf(() => f.write(1_000_000, Buffer.from("x")))).toBe("insufficient-space");
    expect(codeOf(() => f.resize(11))).toBe("insufficient-space");
    f.write(8, Buffer.from("x"));
    expect(workspace.writtenBytes).toBe(9);
    expect(textOf(f.read(0, 100))).toBe("1234567\0x");
    const end = f.openForAppending();
    end.write(Buffer.from("y"));
    expect(codeOf(() => end.write(Buffer.from("z")))).toBe("insufficient-space");
    f.resize(2);
    expect(f.stat().size).toBe(2n);
    expect(codeOf(() => f.write(Number.MAX_SAFE_INTEGER, Buffer.from("x")))).toBe("file-too-large");
    expect(codeOf(() => f.read(-1, 1))).toBe("file-too-large");
  });

  test("the number of files and directories that a call can create is bounded, and reset for the next call", () => {
    const budget = new ChangeBudget(1);
    for (let made = 0; made < MAX_CREATED; made++) budget.create();
    expect(codeOf(() => budget.create())).toBe("insufficient-space");
    expect(codeOf(() => budget.change(2))).toBe("insufficient-space");
    budget.refill();
    expect(budget.hasChanged).toBe(false);
    budget.create();
    budget.change(1);
    expect([budget.hasChanged, budget.writtenBytes]).toEqual([true, 1]);
  });

  test("the number of bytes that one read returns is bounded", () => {
    truncateSync(join(tree.root, "ok.txt"), 2 ** 30);
    const f = openFile(tree.open()[0], "ok.txt", { read: true });
    expect(f.read(0, Number.MAX_SAFE_INTEGER)).toHaveLength(MAX_READ_BYTES);
    expect(f.read(2 ** 30, 1)).toHaveLength(0);
  });

  test("the number of open files is bounded, and all are closed with the workspace", () => {
    const [directory, workspace] = tree.open();
    const all = Array.from({ length: MAX_OPEN - 1 }, () => openFile(directory, "ok.txt", { read: true }));
    expect(codeOf(() => directory.open("ok.txt", { read: true }))).toBe("insufficient-memory");
    expect(codeOf(() => directory.open("new", { write: true, create: true }))).toBe("insufficient-memory");
    expect(codeOf(() => directory.list())).toBe("insufficient-memory");
    expect(existsSync(join(tree.root, "new"))).toBe(false);
    all[0]?.close();
    all[0]?.close();
    const listing = directory.list();
    const ours = (): number =>
      readdirSync("/proc/self/fd").filter((fd) => {
        try {
          return readlinkSync(`/proc/self/fd/${fd}`).startsWith(tree.root);
        } catch {
          return false;
        }
      }).length;
    expect(ours()).toBe(MAX_OPEN);
    workspace[Symbol.dispose]();
    workspace[Symbol.dispose]();
    expect(ours()).toBe(0);
    expect(codeOf(() => all[1]?.read(0, 1))).toBe("bad-descriptor");
    expect(codeOf(() => listing.next())).toBe("bad-descriptor");
    expect(codeOf(() => readText(directory, "ok.txt"))).toBe("bad-descriptor");
  });

  test("a file can be used only for the access that it was opened for", () => {
    const [directory] = tree.open();
    const toRead = openFile(directory, "ok.txt", { read: true });
    const toWrite = openFile(directory, "ok.txt", { write: true });
    expect(codeOf(() => toRead.write(0, Buffer.from("x")))).toBe("bad-descriptor");
    expect(codeOf(() => toRead.openForAppending())).toBe("bad-descriptor");
    expect(codeOf(() => toRead.resize(0))).toBe("bad-descriptor");
    expect(codeOf(() => toWrite.read(0, 1))).toBe("bad-descriptor");
    expect(codeOf(() => directory.open("ok.txt", { read: true, truncate: true }))).toBe("invalid");
    expect(readFileSync(join(tree.root, "ok.txt"), "utf8")).toBe("OK");
  });

  test("a shared file stays open until its last holder closes it", () => {
    const f = openFile(tree.open()[0], "ok.txt", { read: true });
    const shared = f.share();
    f.close();
    expect(textOf(shared.read(0, 2))).toBe("OK");
    shared.close();
    expect(codeOf(() => f.read(0, 2))).toBe("bad-descriptor");
  });

  test("an error of the system keeps its code, but not its message", () => {
    chmodSync(join(tree.root, "ok.txt"), 0o000);
    const [directory] = tree.open();
    const message = (act: () => unknown): string => {
      try {
        act();
        return "";
      } catch (error) {
        return (error as Error).message;
      }
    };
    const messages = [() => readText(directory, "gone"), () => readText(directory, "../x")].map(message);
    expect(messages).toEqual(["no such file or directory", "the path leads out of the granted directories"]);
    // The superuser may read every file.
    if (process.getuid?.() !== 0) expect(codeOf(() => readText(directory, "ok.txt"))).toBe("access");
  });
});
