import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { RecordError, RecordOutcomeError } from "../../../src/record/backend.ts";
import { transact } from "../../../src/record/operations.ts";
import { PostgresBackend } from "../../../src/record/postgres-backend.ts";
import { NO_POSTGRES, type PostgresServer, startPostgres } from "../postgres-server.ts";

describe.skipIf(NO_POSTGRES !== undefined)("A backend on PostgreSQL", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test.each([
    { kill: "connection", kills: 12 },
    { kill: "server", kills: 6 },
  ] as const)("knows what it has written when the $kill is killed in the middle", async ({ kill, kills }) => {
    const schema = server.newSchema();
    const backends = await Promise.all([1, 2].map(() => PostgresBackend.open({ url: server.url, schema })));
    const written: string[] = [];
    const refused: string[] = [];
    let isOver = false;

    /** Adds one entry after the other, and counts each, until the kills are over. */
    async function work(name: string, backend: PostgresBackend): Promise<void> {
      for (let number = 0; !isOver; number++) {
        const id = `${name}-${number}`;
        try {
          await transact(backend, function* (transaction) {
            const count = (yield* transaction.get<number>(["count", "all"])) ?? 0;
            transaction.put(["count", "all"], count + 1);
            transaction.put(["log", id], id);
          });
          written.push(id);
        } catch (error) {
          expect(error).toBeInstanceOf(RecordError);
          expect(error).not.toBeInstanceOf(RecordOutcomeError);
          refused.push(id);
          await sleep(20);
        }
      }
    }

    const workers = Array.from({ length: 6 }, (_, index) =>
      work(`w${index}`, backends[index % 2] as PostgresBackend),
    );
    for (let killed = 0; killed < kills; killed++) {
      const before = written.length;
      while (written.length < before + 3) await sleep(10);
      await sleep(Math.random() * 50);
      await server.kill(kill);
      if (kill === "server") await server.start();
    }
    await sleep(500);
    isOver = true;
    await Promise.all(workers);
    const reader = await PostgresBackend.open({ url: server.url, schema });
    const [entries = [], [count] = []] = await reader.read([{ below: ["log"] }, { key: ["count", "all"] }]);
    expect(entries.map(({ value }) => value).sort()).toEqual([...written].sort());
    expect(count?.value).toBe(written.length);
    expect(written.length).toBeGreaterThan(kills);
    await Promise.all([...backends, reader].map((backend) => backend.close()));
  });

  test("says why while the server is away, refuses at once, and goes on when it is back", async () => {
    const schema = server.newSchema();
    const backend = await PostgresBackend.open({ url: server.url, schema, leaseMs: 1_000 });
    await backend.apply({ checks: [], writes: [{ key: ["t", "a"], value: 1 }] });
    await server.kill("server");
    await expect(async () => backend.read([{ key: ["t", "a"] }])).rejects.toThrow(RecordError);
    await expect(async () => backend.apply({ checks: [], writes: [] })).rejects.toThrow(RecordError);
    expect(backend.problem).toMatch(/^PostgreSQL cannot be reached: /);
    await server.start();
    while (backend.problem !== undefined) await sleep(20);
    expect(await backend.read([{ key: ["t", "a"] }])).toMatchObject([[{ value: 1 }]]);
    await backend.apply({ checks: [], writes: [{ key: ["t", "a"], value: 2 }] });
    await backend.close();
  });

  test("says that nothing can be written, as on a replica, until it can", async () => {
    const schema = server.newSchema();
    const backend = await PostgresBackend.open({ url: server.url, schema, leaseMs: 500 });
    const sql = postgres(server.url, { max: 1 });
    await sql.unsafe(`ALTER TABLE ${schema}.members RENAME TO away`);
    while (backend.problem === undefined) await sleep(20);
    expect(backend.problem).toMatch(/^PostgreSQL cannot be written: /);
    await expect(async () => backend.apply({ checks: [], writes: [] })).rejects.toThrow(RecordError);
    await sql.unsafe(`ALTER TABLE ${schema}.away RENAME TO members`);
    while (backend.problem !== undefined) await sleep(20);
    expect(await backend.apply({ checks: [], writes: [{ key: ["t", "a"], value: 1 }] })).toBeUndefined();
    await sql.end();
    await backend.close();
  });

  test("notifies of what may have changed while no connection listened", async () => {
    const schema = server.newSchema();
    const backend = await PostgresBackend.open({ url: server.url, schema });
    let calls = 0;
    const changed = Promise.withResolvers<void>();
    backend.watch({ key: ["t", "a"] }, () => {
      calls++;
      changed.resolve();
    });
    await server.kill("server");
    await server.start();
    await changed.promise;
    expect(calls).toBeGreaterThan(0);
    await backend.close();
  });

  test("misses a process that was not seen for its lease, by the clock of the server", async () => {
    const schema = server.newSchema();
    const backend = await PostgresBackend.open({ url: server.url, schema, leaseMs: 1_000 });
    const sql = postgres(server.url, { max: 1 });
    // As of a process that was killed a moment ago.
    await sql.unsafe(
      `INSERT INTO ${schema}.members VALUES ('gone', 1, '[]', clock_timestamp() + interval '500 ms')`,
    );
    expect(await backend.members()).toEqual(new Set([backend.member, "gone"]));
    while ((await backend.members()).has("gone")) await sleep(50);
    // Longer than its lease.
    await sleep(1_500);
    expect(await backend.members()).toEqual(new Set([backend.member]));
    await sql.end();
    await backend.close();
  });

  test("brings a schema to its format once, however many open it, and refuses another one", async () => {
    const schema = server.newSchema();
    const opened = await Promise.all(
      [1, 2, 3, 4].map(() => PostgresBackend.open({ url: server.url, schema })),
    );
    expect(await opened[0]?.members()).toEqual(new Set(opened.map(({ member }) => member)));
    await Promise.all(opened.map((backend) => backend.close()));
    await expect(PostgresBackend.open({ url: server.url, schema: "pg_catalog" })).rejects.toThrow(
      "the schema 'pg_catalog' has other tables: choose another one",
    );
    await expect(
      PostgresBackend.open({ url: server.url.replace(/\d+\/postgres$/, "1/postgres") }),
    ).rejects.toThrow(/^PostgreSQL failed: .*ECONNREFUSED/);
  });

  test("brings executions that are entries of their own to those of their calls", async () => {
    const schema = server.newSchema();
    const before = await PostgresBackend.open({ url: server.url, schema });
    const execution = { callId: ',"digest":"', output: "\u0000ü" };
    const { callId } = execution;
    await before.apply({
      checks: [],
      writes: [
        { key: ["call", "s", "t", "m", callId], value: { callId, digest: "d", isEnded: true } },
        { key: ["execution", "s", "t", "m", callId], value: { callId, execution } },
        { key: ["call", "s", "t", "m", "other"], value: { callId: "other", digest: "d" } },
      ],
    });
    await before.close();
    const sql = postgres(server.url);
    await sql.unsafe(`UPDATE ${schema}.record SET value = '1' WHERE key = '!format'`);
    await sql.end();
    const after = await PostgresBackend.open({ url: server.url, schema });
    const [calls = [], executions = []] = await after.read([{ below: ["call"] }, { below: ["execution"] }]);
    expect(calls.map(({ value }) => value)).toEqual([
      { callId, digest: "d", isEnded: true, execution },
      { callId: "other", digest: "d" },
    ]);
    expect(executions).toEqual([]);
    await after.close();
  });

  test.each([
    [{ url: "https://user:secret@example.test" }, "the URL of PostgreSQL must begin with postgres://"],
    [{ url: "postgres://localhost", schema: 'a"; DROP' }, /^the schema of PostgreSQL must have/],
    [{ url: "postgres://localhost", leaseMs: 10 }, /^the lease of PostgreSQL must be/],
  ])("refuses invalid options, and shows no password", async (options, message) => {
    await expect(PostgresBackend.open(options)).rejects.toThrow(message);
  });
});
