import { afterAll } from "vitest";
import type { Backend } from "../../src/record/backend.ts";
import { MemoryBackend, MemorySpace } from "../../src/record/memory-backend.ts";
import { PostgresBackend } from "../../src/record/postgres-backend.ts";
import { targetsOfTier } from "../tier.ts";
import { NO_POSTGRES, type PostgresServer, startPostgres } from "./postgres-server.ts";

/** A kind of backend. */
export interface BackendTarget {
  readonly name: string;
  /** Returns what opens backends that share what they store, which is nothing at first. */
  readonly open: () => Promise<() => Promise<Backend>>;
  /** How many sequences are tried, where one takes long. Default: 100. */
  readonly runs?: number;
}

/** Returns the kinds of backends of this tier, for the tests of one file, which share a server. */
export function backendTargets(): readonly BackendTarget[] {
  let server: Promise<PostgresServer> | undefined;
  afterAll(async () => (await server)?.[Symbol.asyncDispose]());
  const targets: readonly BackendTarget[] = [
    {
      name: "in memory",
      open: async () => {
        const space = new MemorySpace();
        return async () => new MemoryBackend(space);
      },
    },
    {
      name: "on PostgreSQL",
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
