import type { SqliteKind } from "../../src/record/sqlite-file.ts";

/** Returns a kind of files for tests. */
export function sqliteKind(isExclusive: boolean): SqliteKind {
  return { name: "test store", applicationId: 1_234, format: 1, isExclusive, convert: () => [] };
}
