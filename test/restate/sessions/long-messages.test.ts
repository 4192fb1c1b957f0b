import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ToolCall } from "../../../src/engine/call.ts";
import { SessionStoreError } from "../../../src/sessions/session-errors.ts";
import { hostTool } from "../../engine/helpers.ts";
import { freePorts } from "../free-ports.ts";
import { type RestateNode, type RestateNodes, startRestate } from "../restate-nodes.ts";
import { openServer } from "./servers.ts";

let restate: RestateNodes;
beforeAll(async () => {
  restate = await startRestate();
});
afterAll(() => restate[Symbol.asyncDispose]());

/** Restate takes no message that is longer. */
const LIMIT = 32 * 1_048_576;
/** As many calls as fill a message: each can have 2 MiB of arguments. */
const CALLS = 17;

/** Calls whose JSON takes so many bytes. */
function callsOfBytes(bytes: number): readonly ToolCall[] {
  const calls = (text: string) =>
    Array.from({ length: CALLS }, (_, index) => ({
      id: `c${index + 10}`,
      name: "count",
      arguments: { text },
    }));
  return calls("x".repeat(Math.floor((bytes - JSON.stringify(calls("")).length) / CALLS)));
}

describe("Sessions on Restate", () => {
  test("refuse a message that is almost as long as Restate's limit, and run the next one", async () => {
    const [port = 0] = await freePorts(1);
    let runs = 0;
    const tools = [hostTool(() => `${++runs}`, { name: "count", confirm: "auto" })];
    await using sessions = await openServer({ node: restate.nodes[0] as RestateNode, port, tools });
    const session = await sessions.open();
    const dispatch = (id: string, calls: readonly ToolCall[]) =>
      session.turn({ id }).dispatchAll(calls, { messageId: "m" });
    for (const below of [1_000, 100_000]) {
      await expect(dispatch(`t${below}`, callsOfBytes(LIMIT - below))).rejects.toThrow(SessionStoreError);
    }
    expect(runs).toBe(0);
    expect(await dispatch("t", callsOfBytes(29_900_000))).toHaveLength(CALLS);
    expect(runs).toBe(CALLS);
  });
});
