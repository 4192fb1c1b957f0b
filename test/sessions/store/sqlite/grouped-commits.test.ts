import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { GroupedCommits } from "../../../../src/sessions/store/sqlite/statements.ts";

let folder = "";
let database: DatabaseSync;
let commits: GroupedCommits;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sandgate-commits-"));
  database = new DatabaseSync(join(folder, "a.db"));
  database.exec("CREATE TABLE t (x TEXT UNIQUE)");
  commits = new GroupedCommits(database, { problem: undefined });
});
afterEach(() => {
  database.close();
  rmSync(folder, { recursive: true });
});

function insert(...values: readonly string[]): Promise<void> {
  return commits.write(() => {
    for (const value of values) database.prepare("INSERT INTO t VALUES (?)").run(value);
  });
}

/** What another connection sees: only what was committed. */
function committed(): readonly unknown[] {
  const other = new DatabaseSync(join(folder, "a.db"));
  const rows = other.prepare("SELECT x FROM t ORDER BY rowid").all();
  other.close();
  return rows.map(({ x }) => x);
}

test("Writes of one turn of the event loop are committed together", async () => {
  const first = insert("a");
  const second = insert("b");
  expect(committed()).toEqual([]);
  await first;
  expect(committed()).toEqual(["a", "b"]);
  await second;
});

test("A write that fails undoes its own statements, and leaves the others alone", async () => {
  const first = insert("a");
  const failing = insert("b", "a");
  const third = insert("c");
  await expect(failing).rejects.toThrow(/UNIQUE constraint failed/);
  await Promise.all([first, third]);
  expect(committed()).toEqual(["a", "c"]);
});

test("What is read before the commit is returned after it", async () => {
  const write = insert("a");
  const read = commits.read(() => database.prepare("SELECT count(*) n FROM t").get()?.["n"]);
  expect(read).toBeInstanceOf(Promise);
  expect(await read).toBe(1);
  expect(committed()).toEqual(["a"]);
  await write;
  expect(commits.read(() => 2)).toBe(2);
});

test("On a full disk every write of the commit rejects, and later ones work again", async () => {
  database.exec("PRAGMA cache_size = 1; PRAGMA max_page_count = 4");
  const [first, large, last] = await Promise.allSettled([
    insert("a"),
    insert("x".repeat(100_000)),
    insert("b"),
  ]);
  expect(large).toMatchObject({ reason: { message: "the session store failed: the disk is full" } });
  for (const other of [first, last]) {
    expect(other).toMatchObject({ reason: { message: expect.stringContaining("an earlier write") } });
  }
  expect(committed()).toEqual([]);
  database.exec("PRAGMA max_page_count = 1000");
  await insert("c");
  expect(committed()).toEqual(["c"]);
});

test("A problem of the disk is known until a write succeeds, and is tried again without one", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  database.exec("PRAGMA cache_size = 1; PRAGMA max_page_count = 4");
  await expect(insert("x".repeat(100_000))).rejects.toThrow("the disk is full");
  await new Promise(setImmediate);
  expect(commits.problem).toBe("the disk is full");
  await insert("a");
  expect(commits.problem).toBeUndefined();
  await expect(insert("x".repeat(100_000))).rejects.toThrow("the disk is full");
  await new Promise(setImmediate);
  expect(commits.problem).toBe("the disk is full");
  await vi.advanceTimersByTimeAsync(1_000);
  await new Promise(setImmediate);
  expect(commits.problem).toBeUndefined();
  commits.close();
});

test("A statement that fails is no problem of the disk", async () => {
  await insert("a");
  await expect(insert("a")).rejects.toThrow(/UNIQUE constraint failed/);
  await new Promise(setImmediate);
  expect(commits.problem).toBeUndefined();
});
