import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { SqliteSuspensionStore } from "../../../src/programs/stores/sqlite-store.ts";
import { SqliteSessionStore } from "../../../src/sessions/store/sqlite-store.ts";
import {
  ALLOWED,
  APPROVAL,
  CALL,
  CONFIRMATION,
  DENIED,
  executionOf,
  MESSAGE,
  SESSION,
} from "../../sessions/store/records.ts";

const folder = mkdtempSync(join(tmpdir(), "sandgate-old-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;

/** Returns a copy of a file that an earlier version wrote: see write.ts. */
function oldFile(name: "sessions" | "programs"): string {
  const file = join(folder, `${++files}.db`);
  writeFileSync(file, gunzipSync(readFileSync(join(import.meta.dirname, `${name}.db.gz`))));
  return file;
}

const sqlite = process.getBuiltinModule("node:sqlite");

function change(file: string, sql: string): void {
  using database = new sqlite.DatabaseSync(file);
  database.exec(sql);
}

const warnings: string[] = [];
beforeEach(() => {
  const listen = ({ message }: Error): void => void warnings.push(message);
  process.on("warning", listen);
  return () => void process.off("warning", listen);
});

/** Other files of tests run in the same process. */
function warningsOf(file: string): readonly string[] {
  return warnings.filter((message) => message.includes(`'${file}'`));
}

function opened<Store extends { close(): unknown }>(store: Store): Store {
  onTestFinished(() => void store.close());
  return store;
}

test("A store whose executions are entries of their own is converted, too", async () => {
  const file = join(folder, "5.db");
  const store = new SqliteSessionStore(file);
  await store.addSession(SESSION);
  await store.addMessage(MESSAGE);
  await store.claim(CALL);
  const other = { ...CALL, callId: ',"digest":"' };
  await store.end(CALL, executionOf("call_0"));
  await store.end(other, executionOf(other.callId));
  await store.claim({ ...CALL, callId: "call_1" });
  store.close();
  change(
    file,
    `INSERT INTO record SELECT 'execution' || substr(key, 5), version, created,
        '{"callId":' || (value -> '$.callId') || ',"execution":' || (value -> '$.execution') || '}'
        FROM record WHERE key LIKE 'call/%' AND value -> '$.execution' IS NOT NULL;
      UPDATE record SET value = replace(value, ',"execution":' || (value -> '$.execution'), ',"isEnded":true')
        WHERE key LIKE 'call/%' AND value -> '$.execution' IS NOT NULL;
      INSERT INTO record VALUES ('unfinished/s1/t1/m1', 99, 99, '{}');
      PRAGMA user_version = 5`,
  );
  {
    using reopened = new sqlite.DatabaseSync(file, { readOnly: true });
    const found = reopened.prepare("SELECT count(*) AS n FROM record WHERE value LIKE '%isEnded%'").get();
    expect(found).toEqual({ n: 2 });
  }
  const converted = opened(new SqliteSessionStore(file));
  expect(await converted.calls("s1", "t1", "m1")).toEqual([
    { callId: "call_0", state: "ended", execution: executionOf("call_0") },
    { callId: "call_1", state: "begun" },
  ]);
  expect(await converted.claim(other)).toEqual({ state: "ended", execution: executionOf(other.callId) });
  expect(await converted.unfinishedMessages()).toEqual([MESSAGE]);
  await new Promise(setImmediate);
  expect(warningsOf(file)).toHaveLength(1);
});

describe("A store of sessions of the version before", () => {
  test("is converted when it is opened, once, and says so", async () => {
    const file = oldFile("sessions");
    new SqliteSessionStore(file).close();
    new SqliteSessionStore(file).close();
    await new Promise(setImmediate);
    expect(warningsOf(file)).toEqual([
      `The session store '${file}' was converted from format 4 to 6, which earlier versions of sandgate do not read`,
    ]);
    using database = new sqlite.DatabaseSync(file, { readOnly: true });
    const tables = database
      .prepare(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
      )
      .all();
    expect(tables.map(({ name }) => name)).toEqual(["counter", "record"]);
  });

  test("has everything that it had", async () => {
    const store = opened(new SqliteSessionStore(oldFile("sessions")));
    const other = { ...SESSION, id: "ü/2", mode: "autonomous" };
    expect(await store.sessions()).toEqual([SESSION, other]);
    expect(await store.turnIds("s1")).toEqual(["t1"]);
    const inOther = { ...MESSAGE, sessionId: "ü/2", turnId: "t%" };
    expect(await store.messages("s1", "t1")).toEqual([MESSAGE, { ...MESSAGE, messageId: "m2" }]);
    expect(await store.messages("ü/2", "t%")).toEqual([inOther]);
    expect(await store.unfinishedMessages()).toEqual([MESSAGE, inOther]);
    expect(await store.counts("s1")).toEqual(
      new Map([
        ["pay", 1],
        ["write_file", 1],
      ]),
    );
    expect(await store.isCounted(CALL)).toBe(true);
    expect(await store.isCounted({ ...CALL, callId: "call_0/1" })).toBe(true);
    expect(await store.calls("s1", "t1", "m1")).toEqual([
      { callId: "call_0", state: "begun" },
      { callId: "call_1", state: "not-begun" },
    ]);
    expect(await store.calls("s1", "t1", "m2")).toEqual([
      { callId: "call_0", state: "ended", execution: executionOf("ended") },
      { callId: "call_1", state: "ended", execution: executionOf("never begun") },
    ]);
    expect(await store.confirmation("q1")).toEqual({ confirmation: CONFIRMATION, resolution: ALLOWED });
    expect(await store.confirmation("q3")).toMatchObject({ resolution: DENIED });
    const pending = await store.pendingConfirmations();
    expect(pending.map(({ confirmation }) => confirmation.id)).toEqual(["q2", "q3", "q4"]);
    expect(await store.approvals()).toEqual([
      { approval: { ...APPROVAL, calls: 2 }, used: 1 },
      { approval: { ...APPROVAL, id: "a2", for: "workspace" }, used: 0 },
    ]);
    expect(await store.ledger.ledgerState()).toMatchObject({
      entries: [{ id: "l2" }, { id: "l1" }],
      missingUntil: 1_000,
    });
    const forgotten = ["f1", "f2", "t1"].map((turn) => store.isForgotten("s1", turn));
    expect(await Promise.all(forgotten)).toEqual([true, true, false]);
  });

  test("goes on where it was: no call runs twice, and no removed approval comes back", async () => {
    const store = opened(new SqliteSessionStore(oldFile("sessions")));
    expect(await store.claim(CALL)).toEqual({ state: "begun" });
    expect(await store.claim({ ...CALL, digest: "other" })).toEqual({ state: "conflict" });
    expect(await store.claim({ ...CALL, messageId: "m2" })).toMatchObject({ state: "ended" });
    expect(await store.claim({ ...CALL, callId: "call_1", digest: "d1" })).toEqual({ state: "fresh" });
    expect(await store.count(CALL, "write_file")).toBe(false);
    expect(await store.addMessage({ ...MESSAGE, userText: "another" })).toEqual(MESSAGE);
    expect(await store.resolveConfirmation("q1", DENIED)).toEqual(ALLOWED);
    expect(await store.addApproval({ ...APPROVAL, id: "a3" })).toBe(false);
    expect(await store.useApproval(APPROVAL.id)).toBe(true);
    expect(await store.useApproval(APPROVAL.id)).toBe(false);
    await store.removeSession("s1");
    await store.removeSession("ü/2");
    expect((await store.approvals()).map(({ approval }) => approval.id)).toEqual(["a2"]);
    expect(await store.pendingConfirmations()).toEqual([]);
    expect(await store.unfinishedMessages()).toEqual([]);
  });

  test.each([1, 2, 3])("is converted from format %i, too", async (format) => {
    const file = oldFile("sessions");
    const later = ["ledger; DROP TABLE ledger_state", "forgotten_turns", "removed_approvals"];
    for (const table of later.slice(format - 1)) change(file, `DROP TABLE ${table}`);
    change(file, `PRAGMA user_version = ${format}`);
    const store = opened(new SqliteSessionStore(file));
    expect(await store.claim(CALL)).toEqual({ state: "begun" });
    expect(await store.isForgotten("s1", "f1")).toBe(format > 2);
    const { missingUntil } = await store.ledger.ledgerState();
    expect(missingUntil).toBe(format > 1 ? 1_000 : undefined);
  });

  test("stays as it is if one of its records cannot be read", () => {
    const file = oldFile("sessions");
    change(file, "UPDATE calls SET execution = '{' WHERE execution IS NOT NULL");
    for (const _ of [1, 2]) {
      expect(() => new SqliteSessionStore(file)).toThrow(
        `cannot open the session store '${file}': it has a record that is not JSON`,
      );
    }
    using database = new sqlite.DatabaseSync(file, { readOnly: true });
    expect(database.prepare("PRAGMA user_version").get()).toMatchObject({ user_version: 4 });
    expect(database.prepare("SELECT count(*) AS count FROM sessions").get()).toMatchObject({ count: 2 });
  });
});

describe("A store of programs of the version before", () => {
  test("is converted when it is opened for writing, and has everything that it had", async () => {
    const file = oldFile("programs");
    expect(() => new SqliteSuspensionStore(file, { readOnly: true })).toThrow(
      "the file has an older format: open it once for writing, which converts it",
    );
    const store = opened(new SqliteSuspensionStore(file));
    await new Promise(setImmediate);
    expect(warningsOf(file)).toEqual([expect.stringContaining(`'${file}' was converted from format 1 to 2`)]);
    const [first = "", second = ""] = ["b", "a"].map((letter) => letter.repeat(32));
    expect(await store.list()).toMatchObject([
      { id: first, state: "taken" },
      { id: second, state: "waiting", sessionId: "ü/2" },
    ]);
    expect(await store.get(second)).toMatchObject({ sealed: new Uint8Array([0, 1, 255]), keyId: "k1" });
    expect(await store.calls(second)).toEqual([
      { number: 1, digest: "x", sealed: new Uint8Array([3, 4]) },
      { number: 2, digest: "y" },
    ]);
    expect(await store.claim(second, 1, { number: 2, digest: "y" })).toBe("begun");
    expect(await store.removeTemplates()).toBe(1);
    expect(new Uint8Array((await store.template("t1")) ?? [])).toEqual(new Uint8Array(10_000).fill(7));
    expect(await store.take(second, 1)).toBe(true);
    expect(await store.remove(second)).toBe(true);
    expect(await store.list()).toEqual([]);
    expect(await store.removeTemplates()).toBe(1);
  });
});
