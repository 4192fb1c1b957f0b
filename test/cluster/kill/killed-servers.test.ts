import { describe } from "vitest";
import { NO_POSTGRES } from "../../record/postgres-server.ts";
import { describeKilledServers } from "../../restate/cluster/killed-servers.ts";

describe.skipIf(NO_POSTGRES !== undefined)("With a database", () => {
  describeKilledServers("on PostgreSQL", { nodes: 0, postgres: true });
});
