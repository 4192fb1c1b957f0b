/**
 * Adds entries to a store and counts them, one batch after the other, and writes a line to standard output before and after
 * each batch: `begins ID` and `written ID`. Ends when it has written so many.
 */
import { writeSync } from "node:fs";
import type { Backend } from "../../../src/record/backend.ts";
import { transact } from "../../../src/record/operations.ts";
import { PostgresBackend } from "../../../src/record/postgres-backend.ts";
import { SqliteBackend } from "../../../src/record/sqlite-backend.ts";
import { sqliteKind } from "../sqlite-kind.ts";

const [place = "", name = "", count = ""] = process.argv.slice(2);
const { file, isExclusive, url, schema } = JSON.parse(place) as Readonly<Record<string, string>>;
const backend: Backend =
  file === undefined
    ? await PostgresBackend.open({ url: url as string, schema: schema as string })
    : new SqliteBackend(file, sqliteKind(isExclusive === "yes"));
for (let number = 0; number < Number(count); number++) {
  const id = `${name}-${number}`;
  writeSync(1, `begins ${id}\n`);
  await transact(backend, function* (transaction) {
    const before = (yield* transaction.get<number>(["count", "all"])) ?? 0;
    transaction.put(["count", "all"], before + 1);
    transaction.put(["log", "all", id], before);
    transaction.put(["again", "all", id], before);
    transaction.remove(["again", "all", id]);
  });
  writeSync(1, `written ${id}\n`);
}
await backend.close();
