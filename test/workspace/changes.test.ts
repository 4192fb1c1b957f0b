import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { MAX_FILE_CHANGES } from "../../src/tool/changes.ts";
import { openFile } from "../../src/workspace/entries.ts";
import { workspaceIsSupported } from "../../src/workspace/paths.ts";
import type { ToolDirectory } from "../../src/workspace/tool-directory.ts";
import { Workspace } from "../../src/workspace/workspace.ts";
import { GrantedTree, writeText } from "./granted-tree.ts";

let tree: GrantedTree;
let directory: ToolDirectory;
let workspace: Workspace;
beforeEach(() => {
  tree = new GrantedTree();
  onTestFinished(() => tree[Symbol.dispose]());
  [directory, workspace] = tree.open();
});

/** The changes as `change path bytes`. */
const changes = (): readonly string[] | undefined =>
  workspace.changes?.files.map(({ path, change, bytes }) => `${change} ${path} ${bytes}`);

describe.skipIf(!workspaceIsSupported())("The changes of a call", () => {
  test("are the files that it created, modified and deleted, with their sizes", () => {
    writeText(directory, "new.txt", "new");
    writeText(directory, "ok.txt", "longer");
    directory.removeFile("a/in.txt");
    expect(changes()).toEqual(["deleted a/in.txt 0", "created new.txt 3", "modified ok.txt 6"]);
  });

  test("are none if files are only read, opened for writing, or not changed by an operation that fails", () => {
    openFile(directory, "ok.txt", { read: true }).close();
    openFile(directory, "ok.txt", { read: true, write: true }).close();
    expect(() => directory.removeDirectory("a")).toThrow();
    expect(() => directory.createDirectory("a")).toThrow();
    expect(() => directory.rename("missing", directory, "x")).toThrow();
    expect(changes()).toEqual([]);
  });

  test("say what is different in the end, not what was done", () => {
    writeText(directory, "a/kept.txt", "1");
    writeText(directory, "a/kept.txt", "22");
    writeText(directory, "gone.txt", "x");
    directory.removeFile("gone.txt");
    directory.removeFile("ok.txt");
    writeText(directory, "ok.txt", "back");
    expect(changes()).toEqual(["created a/kept.txt 2", "modified ok.txt 4"]);
  });

  test("have a renamed file under both paths, and a moved directory as one", () => {
    directory.rename("ok.txt", directory, "renamed.txt");
    directory.rename("a", directory, "moved");
    expect(changes()).toEqual([
      "deleted a/ 0",
      "created moved/ 0",
      "deleted ok.txt 0",
      "created renamed.txt 2",
    ]);
  });

  test("have the path of the file itself, whatever link or '..' led there", () => {
    symlinkSync("a/b", join(tree.root, "link"));
    writeText(directory, "link/../in.txt", "IN 2");
    writeText(directory, "link/deep.txt", "x");
    expect(changes()).toEqual(["created a/b/deep.txt 1", "modified a/in.txt 4"]);
  });

  test("include replacements that took effect, and no temporary names", () => {
    for (const path of ["ok.txt", "second.txt"]) {
      using replacement = directory.replace(path, { create: true });
      replacement.file.write(0, Buffer.from("replaced"));
      replacement.commit();
    }
    {
      using abandoned = directory.replace("third.txt", { create: true });
      abandoned.file.write(0, Buffer.from("x"));
    }
    expect(changes()).toEqual(["modified ok.txt 8", "created second.txt 8"]);
  });

  test("include appending and resizing", () => {
    const file = openFile(directory, "ok.txt", { write: true });
    const appender = file.openForAppending();
    appender.write(Buffer.from("!"));
    appender.close();
    const other = openFile(directory, "a/in.txt", { write: true });
    other.resize(0);
    expect(changes()).toEqual(["modified a/in.txt 0", "modified ok.txt 3"]);
  });

  test("begin with the place of the directory if there are several", () => {
    mkdirSync(join(tree.base, "second"));
    const grants = [
      { directory: tree.root, at: "/first", write: true },
      { directory: join(tree.base, "second"), at: "/second", write: true },
      { file: join(tree.outside, "one.txt"), at: "/files/one.txt", write: true },
    ];
    using several = new Workspace(grants, 100);
    for (const [index, name] of ["x.txt", "y.txt", "one.txt"].entries()) {
      writeText(several.directories[index]?.directory as ToolDirectory, name, "1");
    }
    expect(several.changes?.files.map(({ path }) => path)).toEqual([
      "files/one.txt",
      "first/x.txt",
      "second/y.txt",
    ]);
    rmSync(join(tree.base, "second"), { recursive: true });
    rmSync(join(tree.outside, "one.txt"));
  });

  test("are unknown where nothing can be changed", () => {
    const [, reading] = tree.open({ write: false });
    expect(reading.changes).toBeUndefined();
  });

  test("are bounded, and say that there are more", () => {
    for (let index = 0; index <= MAX_FILE_CHANGES; index++) writeText(directory, `f${index}`, "");
    expect(workspace.changes?.files).toHaveLength(MAX_FILE_CHANGES);
    expect(workspace.changes?.more).toBe(true);
    workspace.refill();
    expect(workspace.changes).toEqual({ files: [] });
  });

  test("go on in another workspace of the call", () => {
    writeText(directory, "new.txt", "1");
    directory.removeFile("ok.txt");
    const [second, next] = tree.open();
    next.restore(structuredClone(workspace.touched));
    writeText(second, "new.txt", "22");
    workspace = next;
    expect(changes()).toEqual(["created new.txt 2", "deleted ok.txt 0"]);
  });

  test("are the difference between before and after, whatever is done", () => {
    const name = fc.constantFrom("f", "g", "ok.txt", "a/in.txt");
    const operation = fc.oneof(
      fc.record({ kind: fc.constant("write"), name, to: name }),
      fc.record({ kind: fc.constant("remove"), name, to: name }),
      fc.record({ kind: fc.constant("rename"), name, to: name }),
    );
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 8 }), (operations) => {
        using fresh = new GrantedTree();
        const [root, opened] = fresh.open();
        const there = new Set(["ok.txt", "a/in.txt"]);
        const before = new Set(there);
        const written = new Set<string>();
        for (const { kind, name, to } of operations) {
          try {
            if (kind === "write") writeText(root, name, "text");
            else if (kind === "remove") root.removeFile(name);
            else root.rename(name, root, to);
          } catch {
            continue;
          }
          written.add(name);
          if (kind === "rename" && name !== to) written.add(to);
          if (kind === "write") there.add(name);
          else if (kind === "remove" || name !== to) there.delete(name);
          if (kind === "rename") there.add(to);
        }
        const expected = [...written].sort().flatMap((path) => {
          if (there.has(path)) return [`${before.has(path) ? "modified" : "created"} ${path}`];
          return before.has(path) ? [`deleted ${path}`] : [];
        });
        expect(opened.changes?.files.map(({ path, change }) => `${change} ${path}`)).toEqual(expected);
      }),
      { numRuns: 100 },
    );
  });
});

test.skipIf(!workspaceIsSupported())(
  "a file that another program removes meanwhile counts as it is in the end",
  () => {
    writeText(directory, "new.txt", "1");
    writeText(directory, "ok.txt", "1");
    rmSync(join(tree.root, "new.txt"));
    rmSync(join(tree.root, "ok.txt"));
    writeFileSync(join(tree.root, "other.txt"), "of another program");
    expect(changes()).toEqual(["deleted ok.txt 0"]);
  },
);
