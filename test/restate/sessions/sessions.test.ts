import { describeTwoServers } from "../../cluster/two-servers.ts";
import { freePorts } from "../free-ports.ts";
import { type RestateNode, startRestate } from "../restate-nodes.ts";
import { openServer } from "./servers.ts";

describeTwoServers("on Restate", async (tools) => {
  const restate = await startRestate();
  const node = restate.nodes[0] as RestateNode;
  const [port = 0] = await freePorts(1);
  const one = await openServer({ node, port, tools });
  const two = await openServer({ node, port, tools });
  return { one, two, [Symbol.asyncDispose]: () => restate[Symbol.asyncDispose]() };
});
