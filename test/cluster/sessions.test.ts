import { describe } from "vitest";
import { MemoryBackend, MemorySpace } from "../../src/record/memory-backend.ts";
import { PostgresBackend } from "../../src/record/postgres-backend.ts";
import { NO_POSTGRES, startPostgres } from "../record/postgres-server.ts";
import { IS_REST } from "../tier.ts";
import { LEASE_MS, openServer } from "./servers.ts";
import { describeTwoServers } from "./two-servers.ts";

describe.skipIf(IS_REST)("Without a database", () => {
  describeTwoServers("over entries in memory", async (tools) => {
    const space = new MemorySpace();
    const one = await openServer(new MemoryBackend(space), tools);
    const two = await openServer(new MemoryBackend(space), tools);
    return { one, two, [Symbol.asyncDispose]: async () => {} };
  });
});

describe.skipIf(!IS_REST || NO_POSTGRES !== undefined)("With a database", () => {
  describeTwoServers("on PostgreSQL", async (tools) => {
    const postgres = await startPostgres();
    const open = async () =>
      openServer(await PostgresBackend.open({ url: postgres.url, leaseMs: LEASE_MS }), tools);
    const one = await open();
    const two = await open();
    return { one, two, [Symbol.asyncDispose]: () => postgres[Symbol.asyncDispose]() };
  });
});
