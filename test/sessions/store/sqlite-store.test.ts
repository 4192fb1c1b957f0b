import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { SqliteSessionStore } from "../../../src/sessions/store/sqlite-store.ts";
import { DATABASE_INTERFERENCES } from "../../base/database-interferences.ts";
import { CONFIRMATION, MESSAGE, SESSION } from "./records.ts";

const folder = mkdtempSync(join(tmpdir(), "sandgate-store-"));
let files = 0;
let file = "";

beforeEach(() => {
  file = join(folder, `${files++}.db`);
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Changes a closed file. */
function change(sql: string): void {
  const database = new DatabaseSync(file);
  database.exec(sql);
  database.close();
}

describe("A file of sessions", () => {
  test("can only be read by its owner", () => {
    new SqliteSessionStore(file).close();
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test("is refused as long as another store of this process has it open", () => {
    const store = new SqliteSessionStore(file);
    expect(() => new SqliteSessionStore(file)).toThrow(
      `cannot open the session store '${file}': another process or store has it open`,
    );
    store.close();
    new SqliteSessionStore(file).close();
  });

  test("is refused as long as another process has it open", () => {
    const store = new SqliteSessionStore(file);
    const entry = JSON.stringify(join(import.meta.dirname, "../../../src/sessions/store/sqlite-store.ts"));
    const program = `const { SqliteSessionStore } = await import(${entry});
      try { new SqliteSessionStore(${JSON.stringify(file)}); } catch (error) { console.log(error.message); }`;
    const { stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
      encoding: "utf8",
    });
    expect(stdout.trim()).toBe(
      `cannot open the session store '${file}': another process or store has it open`,
    );
    store.close();
  });

  test.each(DATABASE_INTERFERENCES)("takes nothing any more after $what, and leaves that there", async ({
    act,
    problem,
    stays,
  }) => {
    const store = new SqliteSessionStore(file);
    onTestFinished(() => store.close());
    await store.addSession(SESSION);
    expect(store.problem).toBeUndefined();
    act(file);
    // Without a write, so that a server is not ready.
    expect(store.problem).toMatch(problem);
    const writes = await Promise.allSettled<unknown>([
      store.addMessage(MESSAGE),
      store.addConfirmation(CONFIRMATION),
      store.ledger.resetLedger(1),
    ]);
    for (const write of writes) {
      expect(write).toMatchObject({
        reason: { code: "session_store_failed", message: expect.stringMatching(problem) },
      });
    }
    expect(await store.messages(SESSION.id, MESSAGE.turnId)).toEqual([]);
    store.close();
    expect(stays?.(file)).not.toBe(false);
  });

  test("is refused if it is not a database", () => {
    writeFileSync(file, "not a database, and longer than the header of one is. ".repeat(10));
    expect(() => new SqliteSessionStore(file)).toThrow("the file is not a database");
  });

  test("is refused if it is corrupt", async () => {
    const store = new SqliteSessionStore(file);
    await store.addSession(SESSION);
    for (let index = 0; index < 50; index++) {
      await store.addMessage({ ...MESSAGE, messageId: `m${index}`, userText: "x".repeat(500) });
    }
    store.close();
    const bytes = readFileSync(file);
    bytes.fill(0xa5, 4_096, bytes.length - 4_096);
    writeFileSync(file, bytes);
    expect(() => new SqliteSessionStore(file)).toThrow(/the file is corrupt/);
  });

  test("is refused if a newer version of sandgate wrote it, and stays as it is", () => {
    new SqliteSessionStore(file).close();
    change("PRAGMA user_version = 99");
    const before = readFileSync(file);
    expect(() => new SqliteSessionStore(file)).toThrow(
      /the file has format 99, and this version of sandgate reads formats up to 6: use the version that wrote/,
    );
    expect(readFileSync(file)).toEqual(before);
  });

  test("is refused if it belongs to another program, and stays as it is", () => {
    change("CREATE TABLE notes (text TEXT)");
    const before = readFileSync(file);
    expect(() => new SqliteSessionStore(file)).toThrow("the file is a database of another program");
    expect(readFileSync(file).subarray(100)).toEqual(before.subarray(100));
  });

  test("is refused if its folder does not exist", () => {
    expect(() => new SqliteSessionStore(join(folder, "missing", "a.db"))).toThrow(
      expect.objectContaining({ name: "SessionStoreError", code: "session_store_failed" }),
    );
  });

  test("tells of a record that cannot be read", async () => {
    const store = new SqliteSessionStore(file);
    await store.addSession(SESSION);
    await store.addMessage(MESSAGE);
    await store.addConfirmation(CONFIRMATION);
    store.close();
    change("UPDATE record SET value = '{' WHERE key = 'confirmation/q1'");
    const reopened = new SqliteSessionStore(file);
    expect(() => reopened.confirmation("q1")).toThrow(
      "the session store failed: it has a record that is not JSON",
    );
    reopened.close();
  });

  test("rejects what is written after it was closed", async () => {
    const store = new SqliteSessionStore(file);
    store.close();
    store.close();
    await expect(async () => store.addSession(SESSION)).rejects.toThrow("database is not open");
  });

  test("has what was written before it was closed, even if nobody waited for it", async () => {
    const store = new SqliteSessionStore(file);
    const added = store.addSession(SESSION);
    store.close();
    expect(await added).toBe(true);
    const reopened = new SqliteSessionStore(file);
    expect(reopened.sessions()).toEqual([SESSION]);
    reopened.close();
  });
});
