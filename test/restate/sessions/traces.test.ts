import { expect, test } from "vitest";
import { callTracer } from "../../../src/telemetry/call-tracer.ts";
import { hostTool } from "../../engine/helpers.ts";
import { program, programPolicy } from "../../programs/suspension/setting.ts";
import { openSdk } from "../../telemetry/setting.ts";
import { freePorts } from "../free-ports.ts";
import { WorkerRelay } from "../kill-points/worker-relay.ts";
import { type RestateNode, startRestate } from "../restate-nodes.ts";
import { openServer } from "./servers.ts";

const SOURCE = `export default async (input, { tools }) => tools.call("read", {});`;

test("the calls of a message belong to the trace of its request on whichever server they run", async () => {
  await using restate = await startRestate();
  const [node] = restate.nodes as [RestateNode];
  await using stack = new AsyncDisposableStack();
  const worker = stack.adopt(new WorkerRelay(), (used) => used.close());
  const advertise = await worker.listen();
  const ports = await freePorts(2);
  const sdk = await openSdk();
  const ranOn: string[] = [];
  const open = async (name: string, port: number | undefined) => {
    const tools = [
      program(SOURCE),
      hostTool(() => void ranOn.push(name), { name: "read", sideEffects: "read" }),
    ];
    worker.use({ workerPort: port ?? 0, steps: undefined });
    const shared = { node, port: port ?? 0, tools, advertise, policy: programPolicy() };
    const confirmations = { default: { destructive: "auto" } } as const;
    return stack.use(await openServer({ ...shared, confirmations, tracer: callTracer(sdk.telemetry) }));
  };
  const asked = await open("asked", ports[0]);
  await open("other", ports[1]);
  const session = await asked.open();
  const traceId = "0af7651916cd43dd8448eb211c80319c";
  const trace = { traceparent: `00-${traceId}-b7ad6b7169203331-01` };
  const calls = [{ id: "c1", name: "program", arguments: {} }];
  const [result] = await session.turn().dispatchAll(calls, { messageId: "m1", trace });
  expect([result?.success, ranOn]).toEqual([true, ["other"]]);
  const spans = await sdk.spans();
  expect(spans.map(({ name }) => name).toSorted()).toEqual(["execute_tool program", "execute_tool read"]);
  expect(new Set(spans.map((span) => span.traceId))).toEqual(new Set([traceId]));
});
