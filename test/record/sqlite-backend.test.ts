import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { RecordError } from "../../src/record/backend.ts";
import { SqliteBackend } from "../../src/record/sqlite-backend.ts";
import { sqliteKind } from "./sqlite-kind.ts";

const sqlite = process.getBuiltinModule("node:sqlite");

let folder = "";
let backend: SqliteBackend;
/** The connection of the backend. */
let database: DatabaseSync;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sandgate-commits-"));
  const { DatabaseSync: Original } = sqlite;
  sqlite.DatabaseSync = class extends Original {
    constructor(...args: ConstructorParameters<typeof Original>) {
      super(...args);
      database = this;
    }
  };
  backend = new SqliteBackend(join(folder, "a.db"), sqliteKind(true));
  sqlite.DatabaseSync = Original;
});
afterEach(() => {
  backend.close();
  rmSync(folder, { recursive: true });
});

async function put(...values: readonly unknown[]): Promise<void> {
  await backend.apply({
    checks: [],
    writes: values.map((value) => ({ key: ["t", String(value).slice(0, 10)], value })),
  });
}

async function stored(): Promise<readonly unknown[]> {
  const [entries = []] = await backend.read([{ below: ["t"] }]);
  return entries.map(({ value }) => value);
}

test("Batches of one turn of the event loop are committed together", async () => {
  const first = put("a");
  const second = put("b");
  expect(database.isTransaction).toBe(true);
  await first;
  expect(database.isTransaction).toBe(false);
  expect(await stored()).toEqual(["a", "b"]);
  await second;
});

test("A batch that fails undoes its own writes, and leaves the others alone", async () => {
  const first = put("a");
  const failing = put("b", 1n);
  const third = put("c");
  await expect(failing).rejects.toThrow(RecordError);
  await Promise.all([first, third]);
  expect(await stored()).toEqual(["a", "c"]);
});

test("What is read before the commit is returned after it", async () => {
  const write = put("a");
  expect(backend.read([{ key: ["t", "a"] }], true)).toMatchObject([[{ value: "a" }]]);
  const read = backend.read([{ key: ["t", "a"] }]);
  expect(read).toBeInstanceOf(Promise);
  expect(await read).toMatchObject([[{ value: "a" }]]);
  expect(database.isTransaction).toBe(false);
  await write;
  expect(backend.read([{ key: ["t", "a"] }])).toMatchObject([[{ value: "a" }]]);
});

function limit(pages: number): void {
  database.exec(`PRAGMA cache_size = 1; PRAGMA max_page_count = ${pages}`);
}

test("On a full disk every batch of the commit rejects, and later ones work again", async () => {
  await put("z");
  limit(6);
  const [first, large, last] = await Promise.allSettled([put("a"), put("x".repeat(100_000)), put("b")]);
  expect(large).toMatchObject({ reason: { message: "the disk is full" } });
  for (const other of [first, last]) {
    expect(other).toMatchObject({ reason: { message: expect.stringContaining("an earlier write") } });
  }
  limit(1_000);
  await put("c");
  expect(await stored()).toEqual(["c", "z"]);
});

test("A problem of the disk is known until a write succeeds, and is tried again without one", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  limit(6);
  await expect(put("x".repeat(100_000))).rejects.toThrow("the disk is full");
  await new Promise(setImmediate);
  expect(backend.problem).toBe("the disk is full");
  await put("a");
  expect(backend.problem).toBeUndefined();
  await expect(put("x".repeat(100_000))).rejects.toThrow("the disk is full");
  await new Promise(setImmediate);
  expect(backend.problem).toBe("the disk is full");
  await vi.advanceTimersByTimeAsync(1_000);
  await new Promise(setImmediate);
  expect(backend.problem).toBeUndefined();
});

test("A value that cannot be written is no problem of the disk", async () => {
  await expect(put(1n)).rejects.toThrow(RecordError);
  await new Promise(setImmediate);
  expect(backend.problem).toBeUndefined();
});

test("No version is used twice, even after a commit that failed, and after it was opened again", async () => {
  const versionOf = async (): Promise<number> => {
    const [[entry] = []] = await backend.read([{ key: ["t", "a"] }]);
    return entry?.version ?? 0;
  };
  await put("a");
  const first = await versionOf();
  limit(6);
  await expect(put("a", "x".repeat(100_000))).rejects.toThrow("the disk is full");
  await new Promise(setImmediate);
  limit(1_000);
  await put("a");
  const second = await versionOf();
  expect(second).toBeGreaterThan(first + 1);
  backend.close();
  backend = new SqliteBackend(join(folder, "a.db"), sqliteKind(true));
  await put("a");
  expect(await versionOf()).toBeGreaterThan(second);
});
