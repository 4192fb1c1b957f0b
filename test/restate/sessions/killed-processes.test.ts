import { describeKilledServers } from "../cluster/killed-servers.ts";

describeKilledServers("on Restate", { nodes: 1 });
