import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { MemoryBackend, MemorySpace } from "../../../src/record/memory-backend.ts";
import { PostgresBackend } from "../../../src/record/postgres-backend.ts";
import { RestateSessionStore } from "../../../src/restate/store/session-store.ts";
import { MemorySessionStore } from "../../../src/sessions/store/memory-store.ts";
import { RecordedSessionStore } from "../../../src/sessions/store/recorded-store.ts";
import { SqliteSessionStore } from "../../../src/sessions/store/sqlite-store.ts";
import type { SessionStore } from "../../../src/sessions/store/store.ts";
import { NO_POSTGRES, type PostgresServer, startPostgres } from "../../record/postgres-server.ts";
import { type RestateStores, startRestateStores } from "../../restate/store/restate-stores.ts";
import { targetsOfTier } from "../../tier.ts";

/** A kind of session store that must keep the contract of `SessionStore`. */
export interface StoreTarget {
  readonly name: string;
  /** Opens a place for stores, which is empty. */
  readonly open: () => Promise<StorePlace>;
  /** How many sequences of operations are tried, where one takes long. Default: 100. */
  readonly runs?: number;
}

/** A place that outlives the stores that are opened in it. */
export interface StorePlace extends AsyncDisposable {
  /** Opens a store with everything that was kept in the place. */
  readonly store: () => Promise<SessionStore>;
  /** Closes a store and opens it again, if that keeps what it has. */
  readonly reopen: (store: SessionStore) => Promise<SessionStore>;
}

/** Returns the kinds of stores of this tier, for the tests of one file: these share a node of Restate, and each place has a prefix of its own. */
export function storeTargets(): readonly StoreTarget[] {
  let restate: Promise<RestateStores> | undefined;
  let postgres: Promise<PostgresServer> | undefined;
  afterAll(async () => (await restate)?.[Symbol.asyncDispose]());
  afterAll(async () => (await postgres)?.[Symbol.asyncDispose]());
  const targets: readonly StoreTarget[] = [
    {
      name: "in memory",
      open: async () => ({
        store: async () => new MemorySessionStore(),
        reopen: async (opened) => opened,
        [Symbol.asyncDispose]: async () => {},
      }),
    },
    {
      name: "in a file",
      open: async () => {
        const folder = mkdtempSync(join(tmpdir(), "sandgate-store-"));
        const file = join(folder, "store.db");
        return {
          store: async () => new SqliteSessionStore(file),
          reopen: async (opened) => {
            await opened.close();
            return new SqliteSessionStore(file);
          },
          [Symbol.asyncDispose]: async () => rmSync(folder, { recursive: true }),
        };
      },
    },
    {
      name: "over entries in memory",
      open: async () => {
        const space = new MemorySpace();
        const store = async () => new RecordedSessionStore(new MemoryBackend(space));
        return {
          store,
          reopen: async (opened) => {
            await opened.close();
            return store();
          },
          [Symbol.asyncDispose]: async () => {},
        };
      },
    },
    {
      name: "on PostgreSQL",
      runs: 15,
      open: async () => {
        postgres ??= startPostgres();
        const { url, newSchema } = await postgres;
        const schema = newSchema();
        const store = async () => new RecordedSessionStore(await PostgresBackend.open({ url, schema }));
        return {
          store,
          reopen: async (opened) => {
            await opened.close();
            return store();
          },
          [Symbol.asyncDispose]: async () => {},
        };
      },
    },
    {
      name: "on Restate",
      runs: 15,
      open: async () => {
        restate ??= startRestateStores();
        const { ingress, newPrefix } = await restate;
        const prefix = newPrefix();
        return {
          store: async () => new RestateSessionStore({ ingress, prefix }),
          reopen: async (opened) => {
            await opened.close();
            return new RestateSessionStore({ ingress, prefix });
          },
          [Symbol.asyncDispose]: async () => {},
        };
      },
    },
  ];
  const isThere = ({ name }: StoreTarget): boolean => name !== "on PostgreSQL" || NO_POSTGRES === undefined;
  return targetsOfTier(targets, ({ name }) => name === "on Restate" || name === "on PostgreSQL").filter(
    isThere,
  );
}
