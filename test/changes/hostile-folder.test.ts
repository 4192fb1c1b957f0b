import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { describe, expect, test } from "vitest";
import { StagedChanges } from "../../src/changes/staged-changes.ts";
import { StagedStore } from "../../src/workspace/staged/staged-store.ts";
import { ChangesTree } from "./changes-tree.ts";

// A repository can come with a folder `.sandgate` of its own, whose contents nobody has checked.

const CONTENT = "0".repeat(32);

function digest(path: string): string {
  return createHash("sha256").update(path).digest("hex").slice(0, 32);
}

/** Writes a file into a session's folder. */
function plant(tree: ChangesTree, session: string, path: string, text: string): void {
  const file = join(tree.root, ".sandgate/changes", session, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function plantRecord(tree: ChangesTree, session: string, record: { readonly path: string }): void {
  const place = join("records", digest(posix.dirname(record.path)), digest(record.path));
  plant(tree, session, place, JSON.stringify(record));
}

/** Opens the changes of a session as another process would. */
async function open(tree: ChangesTree, session = "session"): Promise<StagedChanges> {
  await tree.changes.close();
  tree.changes = new StagedChanges(tree.root, session);
  return tree.changes;
}

describe("what a repository brings in .sandgate", () => {
  test("cannot have a file outside of the workspace removed", async () => {
    await using tree = new ChangesTree();
    const outside = join(tree.base, "outside");
    writeFileSync(outside, "kept");
    const content = "../../../../../outside";
    const record = { path: "a.txt", was: null, now: { kind: "file", content } };
    plantRecord(tree, "other", record);
    const journal = { process: "1:1", state: "done", made: [], steps: [], records: [record] };
    plant(tree, "other", "accepting.json", JSON.stringify(journal));
    await open(tree);
    expect(readFileSync(outside, "utf8")).toBe("kept");
  });

  test("cannot have a file outside of the workspace shown or accepted", async () => {
    await using tree = new ChangesTree();
    writeFileSync(join(tree.base, "outside"), "secret");
    const content = "../../../../../outside";
    plantRecord(tree, "session", { path: "a.txt", was: null, now: { kind: "file", content } } as never);
    const changes = await open(tree);
    expect(await changes.pending()).toEqual([]);
    await changes.acceptAll();
    expect(existsSync(join(tree.root, "a.txt"))).toBe(false);
  });

  test.each(["contents", "records"])("cannot lead out through a link named %s", async (name) => {
    await using tree = new ChangesTree();
    const outside = join(tree.base, "outside");
    mkdirSync(outside);
    writeFileSync(join(outside, CONTENT), "kept");
    const folder = join(tree.root, ".sandgate/changes/session");
    rmSync(join(folder, name), { recursive: true });
    symlinkSync(outside, join(folder, name));
    await tree.changes.close();
    expect(() => new StagedChanges(tree.root, "session")).toThrow();
    expect(readFileSync(join(outside, CONTENT), "utf8")).toBe("kept");
    rmSync(join(folder, name));
    tree.changes = new StagedChanges(tree.root, "session");
  });

  test.each([
    ["is truncated", '{"process":"1:1","state":"appl'],
    ["is empty", ""],
    ["is no record", "null"],
    ["names no process", '{"state":"done","made":[],"steps":[],"records":[]}'],
    ["has an unknown state", '{"process":"1:1","state":"x","made":[],"steps":[],"records":[]}'],
    [
      "has an unknown step",
      '{"process":"1:1","state":"applying","made":[],"steps":[{"kind":"x"}],"records":[]}',
    ],
    [
      "leads out of the workspace",
      JSON.stringify({
        process: "1:1",
        state: "undoing",
        made: [],
        records: [],
        steps: [{ kind: "remove-folder", path: "../made", mode: 0o700 }],
      }),
    ],
    [
      "changes a protected place",
      JSON.stringify({
        process: "1:1",
        state: "undoing",
        made: [],
        records: [],
        steps: [{ kind: "remove-folder", path: ".git/hooks", mode: 0o700 }],
      }),
    ],
  ])("does not keep a session from opening: a journal that %s", async (_, journal) => {
    await using tree = new ChangesTree({ "a.txt": "A\n" });
    plant(tree, "other", "accepting.json", journal);
    plant(tree, "session", "accepting.json", journal);
    const changes = await open(tree);
    await tree.files().write("a.txt", "new\n");
    expect(await changes.acceptAll()).toMatchObject({ accepted: ["a.txt"] });
    expect(existsSync(join(tree.base, "made"))).toBe(false);
    expect(existsSync(join(tree.root, ".git"))).toBe(false);
  });

  test("cannot have a file outside of the workspace overwritten by the journal", async () => {
    await using tree = new ChangesTree({ "a.txt": "A\n" });
    const outside = join(tree.base, "outside");
    writeFileSync(outside, "kept");
    symlinkSync(outside, join(tree.root, ".sandgate/changes/session/accepting.json.new"));
    await tree.files().write("a.txt", "new\n");
    expect(await tree.changes.acceptAll()).toMatchObject({ accepted: ["a.txt"] });
    expect(readFileSync(outside, "utf8")).toBe("kept");
  });

  test("does not block a session: pipes in the place of files", async () => {
    await using tree = new ChangesTree({ "a.txt": "A\n" });
    plantRecord(tree, "session", { path: "a.txt" });
    const record = join(tree.root, ".sandgate/changes/session/records", digest("."), digest("a.txt"));
    rmSync(record);
    execFileSync("mkfifo", [record, join(tree.root, ".sandgate/changes/session/accepting.json")]);
    const changes = await open(tree);
    expect(await changes.pending()).toEqual([]);
  });

  test.each([
    ["a path that leads out", { path: "../x", was: null, now: { kind: "gone" } }],
    ["a path with a dot", { path: "./x", was: null, now: { kind: "directory" } }],
    ["an absolute path", { path: "/x", was: null, now: { kind: "directory" } }],
    ["no new state", { path: "x", was: null }],
    ["an unknown old state", { path: "x", was: { kind: "x" }, now: { kind: "gone" } }],
    [
      "a number for its digest",
      { path: "x", was: { kind: "file", sha256: 1, bytes: 1 }, now: { kind: "gone" } },
    ],
  ])("is not taken for a change: a record with %s", async (_, record) => {
    await using tree = new ChangesTree();
    plantRecord(tree, "session", record);
    expect(await (await open(tree)).pending()).toEqual([]);
  });

  test("is not taken for a change of another path", async () => {
    await using tree = new ChangesTree();
    const record = { path: "b.txt", was: null, now: { kind: "directory" } };
    plant(tree, "session", join("records", digest("."), digest("a.txt")), JSON.stringify(record));
    const changes = await open(tree);
    expect(await changes.pending()).toEqual([]);
    expect(new StagedStore(join(tree.root, ".sandgate/changes/session")).find("a.txt")).toBeUndefined();
  });
});
