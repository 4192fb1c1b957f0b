import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openDirectory } from "../../src/workspace/entries.ts";
import { workspaceIsSupported } from "../../src/workspace/paths.ts";
import type { ToolDirectory } from "../../src/workspace/tool-directory.ts";
import { codeOf, GrantedTree } from "./granted-tree.ts";

const PROGRAM = fileURLToPath(new URL("./replace-program.ts", import.meta.url));
const isRoot = process.getuid?.() === 0;

let tree: GrantedTree;
beforeEach(() => {
  tree = new GrantedTree();
});
afterEach(() => tree[Symbol.dispose]());

/** Runs a shell script whose `"$@"` replaces `old.txt` in the root by a long text. Returns its output. */
function runInShell(script: string): string {
  const { stdout, stderr } = spawnSync("sh", ["-ec", script, "sh", process.execPath, PROGRAM, tree.root], {
    encoding: "utf8",
    env: { ...process.env, ROOT: tree.root },
  });
  return stderr + stdout.trim();
}

function replace(directory: ToolDirectory, path: string, text: string, create = false): void {
  using replacement = directory.replace(path, { create });
  replacement.file.write(0, Buffer.from(text));
  replacement.file.sync();
  replacement.commit();
}

describe.skipIf(!workspaceIsSupported())("a file that is replaced", () => {
  test("the old text stays as it is if a limit of the system ends the writing", () => {
    writeFileSync(join(tree.root, "old.txt"), "OLD");
    expect(runInShell(`ulimit -f 8; exec "$@"`)).toBe("file-too-large");
    expect(readFileSync(join(tree.root, "old.txt"), "utf8")).toBe("OLD");
    expect(readdirSync(tree.root).sort()).toEqual(["a", "ok.txt", "old.txt"]);
    // Without the limit, the same program replaces the file.
    expect(runInShell(`exec "$@"`)).toBe("done");
    expect(statSync(join(tree.root, "old.txt")).size).toBe(65_536);
  });

  test.skipIf(!isRoot)("the old text stays as it is if the disk is full (needs root, to mount one)", () => {
    const script = `mount -t tmpfs -o size=32k tmpfs "$ROOT"
      trap 'umount "$ROOT"' EXIT
      echo OLD > "$ROOT/old.txt"
      "$@"
      cat "$ROOT/old.txt"
      ls -A "$ROOT"`;
    expect(runInShell(script)).toBe("insufficient-space\nOLD\nold.txt");
  });

  test("the new version has the permissions of the old one, and a new file those of any new file", () => {
    chmodSync(join(tree.root, "ok.txt"), 0o640);
    if (isRoot) chownSync(join(tree.root, "ok.txt"), 1_234, 2_345);
    const [directory] = tree.open();
    replace(directory, "ok.txt", "NEW");
    replace(directory, "new.txt", "NEW", true);
    writeFileSync(join(tree.root, "usual.txt"), "");
    const { mode, uid, gid } = statSync(join(tree.root, "ok.txt"));
    expect(mode & 0o7777).toBe(0o640);
    if (isRoot) expect([uid, gid]).toEqual([1_234, 2_345]);
    expect(statSync(join(tree.root, "new.txt")).mode).toBe(statSync(join(tree.root, "usual.txt")).mode);
    expect(readFileSync(join(tree.root, "ok.txt"), "utf8")).toBe("NEW");
  });

  test.skipIf(!isRoot)(
    "a group that the new version gets in place of the old one may do no more than everyone",
    () => {
      const file = join(tree.root, "old.txt");
      writeFileSync(file, "OLD");
      chmodSync(tree.base, 0o755);
      chownSync(tree.root, 1_234, 1_234);
      chownSync(file, 1_234, 2_345);
      chmodSync(file, 0o664);
      const { stdout, stderr } = spawnSync(process.execPath, [PROGRAM, tree.root], {
        uid: 1_234,
        gid: 1_234,
        encoding: "utf8",
      });
      expect(`${stdout}${stderr}`).toContain("done");
      const { mode, gid } = statSync(file);
      expect([gid, mode & 0o777]).toEqual([1_234, 0o644]);
    },
  );

  test("a reader sees the old version or the new one, and nothing in between", () => {
    const [directory] = tree.open();
    {
      using replacement = directory.replace("ok.txt");
      replacement.file.write(0, Buffer.from("NEW"));
      expect(readFileSync(join(tree.root, "ok.txt"), "utf8")).toBe("OK");
      replacement.commit();
      expect(readFileSync(join(tree.root, "ok.txt"), "utf8")).toBe("NEW");
    }
    {
      using abandoned = directory.replace("ok.txt");
      abandoned.file.write(0, Buffer.from("LOST"));
    }
    expect(readFileSync(join(tree.root, "ok.txt"), "utf8")).toBe("NEW");
    expect(readdirSync(tree.root).sort()).toEqual(["a", "ok.txt"]);
  });

  test("a link to a file inside stays a link, and one to the outside is refused", () => {
    symlinkSync("../ok.txt", join(tree.root, "a/link"));
    symlinkSync("../outside/secret.txt", join(tree.root, "out"));
    const [directory] = tree.open();
    replace(directory, "a/link", "NEW");
    expect(readFileSync(join(tree.root, "ok.txt"), "utf8")).toBe("NEW");
    expect(readdirSync(join(tree.root, "a")).sort()).toEqual(["b", "in.txt", "link"]);
    for (const path of ["out", "../outside/secret.txt"]) {
      expect(codeOf(() => replace(directory, path, "OVERWRITTEN", true))).toBe("not-permitted");
    }
    tree.expectUntouchedOutside();
  });

  test.each([
    ["a", "is-directory"],
    [".", "is-directory"],
    ["gone.txt", "no-entry"],
    ["gone/x.txt", "no-entry"],
    ["ok.txt/", "not-directory"],
    [".bashrc", "not-permitted"],
  ])("%s cannot be replaced (%s), and nothing is left behind", (path, code) => {
    const [directory] = tree.open();
    const isMissing = code === "no-entry";
    expect(codeOf(() => replace(directory, path, "NEW", !isMissing))).toBe(code);
    expect(readdirSync(tree.root).sort()).toEqual(["a", "ok.txt"]);
  });

  test("a file is not replaced once its directory was moved out of the granted one", () => {
    const [directory] = tree.open();
    using replacement = openDirectory(directory, "a").replace("in.txt");
    replacement.file.write(0, Buffer.from("NEW"));
    renameSync(join(tree.root, "a"), join(tree.base, "moved"));
    expect(codeOf(() => replacement.commit())).toBe("not-permitted");
    expect(readFileSync(join(tree.base, "moved/in.txt"), "utf8")).toBe("IN");
    renameSync(join(tree.base, "moved"), join(tree.root, "a"));
  });

  test("a read-only grant and a used-up budget leave the file as it is", () => {
    const [readOnly] = tree.open({ write: false });
    expect(codeOf(() => replace(readOnly, "ok.txt", "NEW"))).toBe("read-only");
    const [small, workspace] = tree.open({}, 5);
    expect(codeOf(() => replace(small, "ok.txt", "TOO LONG"))).toBe("insufficient-space");
    expect(workspace.writtenBytes).toBe(0);
    replace(small, "ok.txt", "SHORT");
    expect(workspace.writtenBytes).toBe(5);
    expect(readFileSync(join(tree.root, "ok.txt"), "utf8")).toBe("SHORT");
  });
});
