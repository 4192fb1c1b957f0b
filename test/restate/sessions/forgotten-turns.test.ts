import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import { HostPolicy } from "../../../src/policy/policy.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { openSessions, type Sessions } from "../../../src/sessions/sessions.ts";
import { MemorySessionStore } from "../../../src/sessions/store/memory-store.ts";
import { hostTool } from "../../engine/helpers.ts";
import { freePorts } from "../free-ports.ts";
import { type RestateNode, type RestateNodes, startRestate } from "../restate-nodes.ts";
import { openServer } from "./servers.ts";

let effects = 0;
const tools = [
  hostTool(() => `effect ${++effects}`, { name: "note", confirm: "auto", sideEffects: "write" }),
];
const calls = [{ id: "c", name: "note", arguments: {} }];

let restate: RestateNodes;
let onRestate: Sessions;
let inMemory: Sessions;
beforeAll(async () => {
  restate = await startRestate();
  const [port = 0] = await freePorts(1);
  onRestate = await openServer({ node: restate.nodes[0] as RestateNode, port, tools });
  const registry = new ToolRegistry();
  for (const tool of tools) registry.register(tool);
  inMemory = await openSessions({
    registry,
    policy: new HostPolicy(),
    sandboxes: await openSandboxes(),
    store: new MemorySessionStore(),
  });
});
afterAll(async () => {
  await Promise.all([onRestate?.close(), inMemory?.close()]);
  await restate?.[Symbol.asyncDispose]();
});
beforeEach(() => {
  effects = 0;
});

describe.each([
  ["in memory", () => inMemory],
  ["on Restate", () => onRestate],
])("A turn of sessions %s that begins again under the id of one that was forgotten", (_, sessions) => {
  test("runs its messages, also those with ids that the other one had", async () => {
    const session = await sessions().open();
    const dispatch = async (): Promise<unknown> => {
      const turn = (await session.findTurn("t")) ?? session.turn({ id: "t" });
      return (await turn.dispatchAll(calls, { messageId: "m" }))[0]?.output;
    };
    expect([await dispatch(), await dispatch()]).toEqual(["effect 1", "effect 1"]);
    expect(await session.forgetTurn("t")).toBe(true);
    expect(await session.isForgotten("t")).toBe(true);
    expect([await dispatch(), await dispatch()]).toEqual(["effect 2", "effect 2"]);
    expect(effects).toBe(2);
  });

  test("is not cancelled because the other one was", async () => {
    const session = await sessions().open();
    const cancelled = session.turn({ id: "t" });
    await cancelled.dispatchAll(calls, { messageId: "m" });
    await cancelled.cancel();
    await session.forgetTurn("t");
    const [result] = await session.turn({ id: "t" }).dispatchAll(calls, { messageId: "m" });
    expect(result).toMatchObject({ success: true, output: "effect 2" });
  });
});
