import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import type { Backend } from "../../src/record/backend.ts";
import { MemoryBackend, MemorySpace } from "../../src/record/memory-backend.ts";
import { PostgresBackend } from "../../src/record/postgres-backend.ts";
import { SqliteBackend } from "../../src/record/sqlite-backend.ts";
import { targetsOfTier } from "../tier.ts";
import { NO_POSTGRES, type PostgresServer, startPostgres } from "./postgres-server.ts";
import { sqliteKind } from "./sqlite-kind.ts";

/** A kind of backend. */
export interface BackendTarget {
  readonly name: string;
  /** Whether only one backend at a time has the store open. Default: `false`. */
  readonly isAlone?: boolean;
  /** Whether those who have it open know of each other, so that they are a `SharedBackend`. */
  readonly hasMembers: boolean;
  /** Returns what opens backends that share what they store, which is nothing at first. */
  readonly open: () => Promise<() => Promise<Backend>>;
  /** How many sequences are tried, where one takes long. Default: 100. */
  readonly runs?: number;
}

/** Returns the kinds of backends of this tier, for the tests of one file, which share a server. */
export function backendTargets(): readonly BackendTarget[] {
  let server: Promise<PostgresServer> | undefined;
  afterAll(async () => (await server)?.[Symbol.asyncDispose]());
  const folder = mkdtempSync(join(tmpdir(), "sandgate-record-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  let files = 0;
  const targets: readonly BackendTarget[] = [
    {
      name: "in memory",
      hasMembers: true,
      open: async () => {
        const space = new MemorySpace();
        return async () => new MemoryBackend(space);
      },
    },
    {
      name: "in a file of one process",
      isAlone: true,
      runs: 30,
      hasMembers: false,
      open: async () => {
        const file = join(folder, `${++files}.db`);
        return async () => new SqliteBackend(file, sqliteKind(true));
      },
    },
    {
      name: "in a file of several processes",
      runs: 20,
      hasMembers: false,
      open: async () => {
        const file = join(folder, `${++files}.db`);
        return async () => new SqliteBackend(file, sqliteKind(false));
      },
    },
    {
      name: "on PostgreSQL",
      hasMembers: true,
      runs: 30,
      open: async () => {
        server ??= startPostgres();
        const { url, newSchema } = await server;
        const schema = newSchema();
        return () => PostgresBackend.open({ url, schema });
      },
    },
  ];
  return targetsOfTier(targets, ({ name }) => name === "on PostgreSQL").filter(
    ({ name }) => name !== "on PostgreSQL" || NO_POSTGRES === undefined,
  );
}
