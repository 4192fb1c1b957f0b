import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import {
  MemorySuspensionStore,
  RecordedSuspensionStore,
} from "../../../src/programs/stores/recorded-store.ts";
import { SqliteSuspensionStore } from "../../../src/programs/stores/sqlite-store.ts";
import type { StoredProgram, SuspensionStore } from "../../../src/programs/stores/suspension-store.ts";
import { MemoryBackend, MemorySpace } from "../../../src/record/memory-backend.ts";
import { PostgresBackend } from "../../../src/record/postgres-backend.ts";
import { RestateSuspensionStore } from "../../../src/restate/store/suspension-store.ts";
import { DATABASE_INTERFERENCES } from "../../base/database-interferences.ts";
import { NO_POSTGRES, type PostgresServer, startPostgres } from "../../record/postgres-server.ts";
import { type RestateStores, startRestateStores } from "../../restate/store/restate-stores.ts";
import { IS_REST, targetsOfTier } from "../../tier.ts";

const folder = mkdtempSync(join(tmpdir(), "sandgate-programs-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;

const PROGRAM: StoredProgram = {
  id: "a".repeat(32),
  revision: 1,
  state: "waiting",
  sessionId: "s1",
  turnId: "t1",
  messageId: "m1",
  callId: "c1",
  principal: "ann",
  toolName: "run_program",
  digest: "d1",
  build: "b1",
  template: "t1",
  definitions: "e1",
  policyRevision: "r1",
  suspendedAt: 1_000,
  waitUntil: 9_000,
  keyId: "k1",
  open: [{ number: 1, toolName: "pay" }],
  sealed: new Uint8Array([1, 2, 3]),
};
const OTHER: StoredProgram = { ...PROGRAM, id: "b".repeat(32), callId: "c2", suspendedAt: 2_000 };

/** A kind of store. */
interface Kind {
  readonly name: string;
  readonly open: () => SuspensionStore | Promise<SuspensionStore>;
  /** Closes a store, and opens it again; stores in memory stay open. */
  readonly reopen: (store: SuspensionStore) => Promise<SuspensionStore>;
}

let file = "";
/** One node for all tests; each has a prefix of its own. */
let restate: RestateStores | undefined;
let prefix = "";
afterAll(() => restate?.[Symbol.asyncDispose]());
let space = new MemorySpace();
let postgres: PostgresServer | undefined;
let schema = "";
afterAll(() => postgres?.[Symbol.asyncDispose]());

const KINDS: readonly Kind[] = [
  { name: "in memory", open: () => new MemorySuspensionStore(), reopen: async (store) => store },
  {
    name: "in a file",
    open: () => {
      file = join(folder, `${++files}.db`);
      return new SqliteSuspensionStore(file);
    },
    reopen: async (store) => {
      await store.close();
      return new SqliteSuspensionStore(file);
    },
  },
  {
    name: "over entries in memory",
    open: () => {
      space = new MemorySpace();
      return new RecordedSuspensionStore(new MemoryBackend(space));
    },
    reopen: async (store) => {
      await store.close();
      return new RecordedSuspensionStore(new MemoryBackend(space));
    },
  },
  {
    name: "on PostgreSQL",
    open: async () => {
      postgres ??= await startPostgres();
      schema = postgres.newSchema();
      return new RecordedSuspensionStore(await PostgresBackend.open({ url: postgres.url, schema }));
    },
    reopen: async (store) => {
      await store.close();
      const { url } = postgres as PostgresServer;
      return new RecordedSuspensionStore(await PostgresBackend.open({ url, schema }));
    },
  },
  {
    name: "on Restate",
    open: async () => {
      restate ??= await startRestateStores();
      prefix = restate.newPrefix();
      return new RestateSuspensionStore({ ingress: restate.ingress, prefix });
    },
    reopen: async (store) => {
      await store.close();
      const { ingress } = restate as RestateStores;
      return new RestateSuspensionStore({ ingress, prefix });
    },
  },
];

const kinds = targetsOfTier(KINDS, ({ name }) => name === "on Restate" || name === "on PostgreSQL").filter(
  ({ name }) => name !== "on PostgreSQL" || NO_POSTGRES === undefined,
);

describe.each(kinds)("A store of suspended programs $name", ({ open, reopen }) => {
  let store: SuspensionStore;
  beforeEach(async () => {
    store = await open();
    return () => store.close();
  });

  test("keeps a program as it is", async () => {
    expect(await store.put(PROGRAM, [])).toBe(true);
    store = await reopen(store);
    expect(await store.get(PROGRAM.id)).toEqual(PROGRAM);
    expect(await store.get(OTHER.id)).toBeUndefined();
  });

  test("accepts each revision once, after the one before", async () => {
    expect(await store.put({ ...PROGRAM, revision: 2 }, [])).toBe(false);
    expect(await store.put(PROGRAM, [])).toBe(true);
    expect(await store.put(PROGRAM, [])).toBe(false);
    expect(await store.put({ ...PROGRAM, revision: 2, sealed: new Uint8Array([4]) }, [])).toBe(true);
    expect(await store.get(PROGRAM.id)).toMatchObject({ revision: 2, sealed: new Uint8Array([4]) });
  });

  test("gives a program to one who takes it, until it waits again", async () => {
    await store.put(PROGRAM, []);
    const taken = await Promise.all([1, 2, 3].map(() => store.take(PROGRAM.id, 1)));
    expect(taken.filter(Boolean)).toHaveLength(1);
    store = await reopen(store);
    expect(await store.get(PROGRAM.id)).toMatchObject({ state: "taken" });
    expect(await store.take(PROGRAM.id, 1)).toBe(false);
    await store.put({ ...PROGRAM, revision: 2 }, []);
    expect(await store.take(PROGRAM.id, 1)).toBe(false);
    expect(await store.take(PROGRAM.id, 2)).toBe(true);
    expect(await store.take(OTHER.id, 1)).toBe(false);
  });

  test("replaces a program that waits in one step, after which the revision before is worth nothing", async () => {
    const next = { ...PROGRAM, revision: 2, sealed: new Uint8Array([4]) };
    expect(await store.replace(PROGRAM)).toBe(false);
    await store.put(PROGRAM, [{ number: 1, digest: "x" }]);
    const replaced = await Promise.all([1, 2, 3].map(() => store.replace(next)));
    expect(replaced.filter(Boolean)).toHaveLength(1);
    store = await reopen(store);
    expect(await store.get(PROGRAM.id)).toEqual(next);
    expect(await store.claim(PROGRAM.id, 1, { number: 2, digest: "y" })).toBe("conflict");
    expect(await store.claim(PROGRAM.id, 1, { number: 1, digest: "x" })).toBe("conflict");
    await store.end(PROGRAM.id, 1, { number: 1, digest: "x", sealed: new Uint8Array([5]) });
    expect(await store.claim(PROGRAM.id, 2, { number: 1, digest: "x" })).toBe("begun");
    expect(await store.take(PROGRAM.id, 1)).toBe(false);
    expect(await store.take(PROGRAM.id, 2)).toBe(true);
    expect(await store.replace({ ...PROGRAM, revision: 3 })).toBe(false);
  });

  test("lists programs without what is sealed, the oldest first", async () => {
    await store.put(PROGRAM, []);
    await store.put(OTHER, []);
    store = await reopen(store);
    const { sealed: _, ...header } = PROGRAM;
    const { sealed: __, ...other } = OTHER;
    expect(await store.list()).toEqual([header, other]);
  });

  test("lets a call be claimed once, and knows how far it has come", async () => {
    expect(await store.claim(PROGRAM.id, 1, { number: 1, digest: "x" })).toBe("conflict");
    await store.put(PROGRAM, [{ number: 1, digest: "x" }]);
    expect(await store.claim(PROGRAM.id, 1, { number: 1, digest: "x" })).toBe("begun");
    const claims = await Promise.all(
      [1, 2, 3].map(() => store.claim(PROGRAM.id, 1, { number: 2, digest: "y" })),
    );
    expect(claims.toSorted()).toEqual(["begun", "begun", "fresh"]);
    expect(await store.claim(PROGRAM.id, 1, { number: 2, digest: "z" })).toBe("conflict");
    await store.end(PROGRAM.id, 1, { number: 2, digest: "y", sealed: new Uint8Array([5]) });
    await store.end(PROGRAM.id, 1, { number: 2, digest: "y", sealed: new Uint8Array([6]) });
    await store.end(PROGRAM.id, 1, { number: 3, digest: "w", sealed: new Uint8Array([7]) });
    await store.end(OTHER.id, 1, { number: 1, digest: "w", sealed: new Uint8Array([7]) });
    store = await reopen(store);
    expect(await store.claim(PROGRAM.id, 1, { number: 2, digest: "y" })).toBe("ended");
    expect(await store.calls(PROGRAM.id)).toEqual([
      { number: 1, digest: "x" },
      { number: 2, digest: "y", sealed: new Uint8Array([5]) },
      { number: 3, digest: "w", sealed: new Uint8Array([7]) },
    ]);
    expect(await store.calls(OTHER.id)).toEqual([]);
  });

  test("removes a program with its calls, and with the programs that its tool called", async () => {
    await store.put(PROGRAM, [{ number: 1, digest: "x" }]);
    await store.put({ ...OTHER, id: "c".repeat(32), callId: "c1/1" }, []);
    await store.put({ ...OTHER, id: "d".repeat(32), callId: "c1/1", turnId: "t2" }, []);
    await store.put({ ...OTHER, id: "e".repeat(32), callId: "c11" }, []);
    expect(await store.remove(PROGRAM.id)).toBe(true);
    expect(await store.remove(PROGRAM.id)).toBe(false);
    store = await reopen(store);
    expect((await store.list()).map(({ id }) => id[0])).toEqual(["d", "e"]);
    expect(await store.calls(PROGRAM.id)).toEqual([]);
  });

  test("keeps templates by their digests, as long as a program names them", async () => {
    expect(await store.hasTemplate("t1")).toBe(false);
    await store.addTemplate("t1", new Uint8Array([1, 2]));
    await store.addTemplate("t1", new Uint8Array([3]));
    await store.addTemplate("t2", new Uint8Array([4]));
    await store.put(PROGRAM, []);
    store = await reopen(store);
    expect(await store.removeTemplates()).toBe(1);
    expect(await store.hasTemplate("t1")).toBe(true);
    expect(new Uint8Array((await store.template("t1")) ?? [])).toEqual(new Uint8Array([1, 2]));
    expect(await store.template("t2")).toBeUndefined();
  });
});

describe.skipIf(IS_REST)("A store of suspended programs in a file", () => {
  test("is open in several processes, and gives a program to one of them", async () => {
    const shared = join(folder, "shared.db");
    using stores = new DisposableStack();
    const [one, other] = [1, 2].map(() => {
      const store = new SqliteSuspensionStore(shared);
      stores.defer(() => store.close());
      return store;
    }) as [SqliteSuspensionStore, SqliteSuspensionStore];
    await one.put(PROGRAM, []);
    const taken = await Promise.all([one.take(PROGRAM.id, 1), other.take(PROGRAM.id, 1)]);
    expect(taken.filter(Boolean)).toHaveLength(1);
    expect((await other.get(PROGRAM.id))?.state).toBe("taken");
    const reader = new SqliteSuspensionStore(shared, { readOnly: true });
    stores.defer(() => reader.close());
    expect(await reader.list()).toHaveLength(1);
    await expect(async () => reader.remove(PROGRAM.id)).rejects.toThrow("it cannot be written");
  });

  test.each(DATABASE_INTERFERENCES)("takes nothing any more after $what, and leaves that there", async ({
    act,
    problem,
    stays,
  }) => {
    const changed = join(folder, `${++files}-changed.db`);
    const store = new SqliteSuspensionStore(changed);
    onTestFinished(() => store.close());
    await store.put(PROGRAM, []);
    act(changed);
    const writes = await Promise.allSettled([store.put(OTHER, []), store.take(PROGRAM.id, 1)]);
    for (const write of writes)
      expect(write).toMatchObject({ reason: { message: expect.stringMatching(problem) } });
    expect(await store.list()).toMatchObject([{ id: PROGRAM.id, state: "waiting" }]);
    store.close();
    expect(stays?.(changed)).not.toBe(false);
  });

  test("undoes a write that fails, and leaves the others of the same turn alone", async () => {
    const store = new SqliteSuspensionStore(join(folder, "failing.db"));
    onTestFinished(() => store.close());
    const last = { ...OTHER, id: "c".repeat(32), callId: "c3" };
    // Its header is written before its second call fails.
    const flawed = [
      { number: 1, digest: "x" },
      { number: 2, digest: 1n as unknown as string },
    ];
    const [first, failing, third] = await Promise.allSettled([
      store.put(PROGRAM, [{ number: 1, digest: "x" }]),
      store.put(OTHER, flawed),
      store.put(last, []),
    ]);
    expect([first, third]).toEqual(Array(2).fill({ status: "fulfilled", value: true }));
    expect(failing).toMatchObject({
      reason: {
        code: "suspension_store_failed",
        message: expect.stringContaining("the store of programs failed"),
      },
    });
    expect((await store.list()).map(({ id }) => id)).toEqual([PROGRAM.id, last.id]);
    expect(await store.calls(PROGRAM.id)).toHaveLength(1);
    expect(await store.calls(OTHER.id)).toEqual([]);
    expect(await store.put(OTHER, [])).toBe(true);
  });

  test("leaves out what was changed so that it is not a program", async () => {
    const changed = join(folder, "changed.db");
    const sqlite = process.getBuiltinModule("node:sqlite");
    for (const header of ["null", "{}", "no JSON", JSON.stringify({ ...PROGRAM, open: [null] })]) {
      const store = new SqliteSuspensionStore(changed);
      await store.put(PROGRAM, []);
      const database = new sqlite.DatabaseSync(changed);
      database.prepare("UPDATE record SET value = ? WHERE key LIKE 'program/%'").run(header);
      database.close();
      expect(await store.list()).toEqual([]);
      expect(await store.get(PROGRAM.id)).toBeUndefined();
      expect(await store.remove(PROGRAM.id)).toBe(true);
      expect(await store.put(PROGRAM, [])).toBe(true);
      expect(await store.remove(PROGRAM.id)).toBe(true);
      store.close();
    }
  });

  test("is refused if it is another file, or that of a newer version", () => {
    const text = join(folder, "text.db");
    writeFileSync(text, "no database ".repeat(500));
    expect(() => new SqliteSuspensionStore(text)).toThrow("the file is not a database");
    const sqlite = process.getBuiltinModule("node:sqlite");
    const foreign = join(folder, "foreign.db");
    const database = new sqlite.DatabaseSync(foreign);
    database.exec("CREATE TABLE other (a)");
    database.close();
    expect(() => new SqliteSuspensionStore(foreign)).toThrow("the file is a database of another program");
    const newer = join(folder, "newer.db");
    new SqliteSuspensionStore(newer).close();
    const changed = new sqlite.DatabaseSync(newer);
    changed.exec("PRAGMA user_version = 99");
    changed.close();
    expect(() => new SqliteSuspensionStore(newer)).toThrow("format");
  });
});
