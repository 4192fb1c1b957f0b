import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { AgentHooks } from "../../../src/engine/call/context.ts";
import type { ToolCall } from "../../../src/engine/call.ts";
import type { Tool } from "../../../src/engine/tool.ts";
import type { JsonObject } from "../../../src/json/value.ts";
import type { Sessions } from "../../../src/sessions/sessions.ts";
import { hostTool } from "../../engine/helpers.ts";
import { freePorts } from "../free-ports.ts";
import { type RestateNode, type RestateNodes, startRestate } from "../restate-nodes.ts";
import { openServer } from "./servers.ts";

let restate: RestateNodes;
let node: RestateNode;
let servers: readonly Sessions[];
const effects: { readonly text: string; readonly by: number }[] = [];

/** The tools of one of the servers. */
const toolsOf = (by: number): readonly Tool[] => [
  hostTool(({ text }: JsonObject) => effects.push({ text: String(text), by }), {
    name: "asks",
    confirm: "always",
  }),
  hostTool(
    ({ text }: JsonObject, { signal }) =>
      new Promise((resolve) => {
        effects.push({ text: String(text), by });
        signal.addEventListener("abort", () => resolve("stopped"));
      }),
    { name: "single", confirm: "auto", maxConcurrent: 1 },
  ),
  hostTool(() => "read", { name: "read", sideEffects: "read" }),
];

beforeAll(async () => {
  restate = await startRestate();
  node = restate.nodes[0] as RestateNode;
  const [port = 0] = await freePorts(1);
  const hooksOf = (by: number): AgentHooks => ({
    onToolCall: async ({ name, arguments: given }) => {
      const { text } = given as JsonObject;
      if (String(text).startsWith("late")) {
        effects.push({ text: `decides on ${String(text)}`, by });
        await sleep(500);
      }
      return name === "read" ? "abort" : "continue";
    },
  });
  servers = await Promise.all(
    [0, 1].map((by) => openServer({ node, port, tools: toolsOf(by), hooks: hooksOf(by) })),
  );
});
afterAll(async () => {
  await Promise.all(servers.map((server) => server.close()));
  await restate[Symbol.asyncDispose]();
});

const call = (name: string, text: string, id = "c"): ToolCall => ({ id, name, arguments: { text } });
const server = (by: number): Sessions => servers[by] as Sessions;

/** Asks the admin API of the node. */
async function query(sql: string): Promise<readonly JsonObject[]> {
  const response = await fetch(`${node.admin}/query`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify({ query: sql }),
  });
  return ((await response.json()) as { readonly rows: readonly JsonObject[] }).rows;
}

/** Returns the ids of the sessions with confirmations that are listed as open. */
async function listed(): Promise<readonly string[]> {
  const [row] = await query(
    "select value_utf8 from state where service_name = 'SandgateOpenInquiries' and key = 'open'",
  );
  const open = JSON.parse(String(row?.["value_utf8"] ?? "[]")) as readonly { readonly sessionId: string }[];
  return open.map(({ sessionId }) => sessionId);
}

describe("Sessions on Restate, when they are closed or cancelled elsewhere", () => {
  test("end a call that waits for a person as cancelled, and no longer list what it asked", async () => {
    const session = await server(0).open();
    const results = session.turn({ id: "t" }).dispatchAll([call("asks", "closed")], { messageId: "m" });
    await vi.waitFor(async () => expect(await listed()).toContain(session.id), 10_000);
    await sleep(100);
    await (await server(1).find(session.id))?.close();
    expect((await results)[0]).toMatchObject({ error: { code: "cancelled", effect: "none" } });
    await vi.waitFor(async () => expect(await listed()).not.toContain(session.id), 5_000);
  });

  test("end a call as cancelled, and list nothing, if they are closed at the moment at which it asks", async () => {
    const sessions = await Promise.all(Array.from({ length: 10 }, () => server(0).open()));
    const results = sessions.map(async (session, index) => {
      const turn = session.turn({ id: "t" });
      const [result] = await Promise.all([
        turn.dispatchAll([call("asks", "closed")], { messageId: "m" }),
        sleep(4 * index).then(async () => (await server(1).find(session.id))?.close()),
      ]);
      return result[0];
    });
    for (const result of await Promise.all(results)) {
      expect(result).toMatchObject({ error: { code: "cancelled", effect: "none" } });
    }
    const ids = sessions.map(({ id }) => id);
    await vi.waitFor(
      async () => expect((await listed()).filter((id) => ids.includes(id))).toEqual([]),
      5_000,
    );
  });

  test("begin no call that waited for a place when its turn was cancelled by another server", async () => {
    const session = await server(0).open();
    const results = session
      .turn({ id: "t" })
      .dispatchAll([call("single", "first", "1"), call("single", "second", "2")], { messageId: "m" });
    const first = await vi.waitFor(() => {
      const found = effects.find(({ text }) => text === "first");
      if (found === undefined) throw new Error("has not begun");
      return found;
    }, 10_000);
    // The turn is not known there: `cancel` of a turn that is would also end the calls that come here later.
    await (await (await server(1 - first.by).find(session.id))?.findTurn("t"))?.cancel();
    expect((await results)[1]).toMatchObject({ error: { code: "cancelled", effect: "none" } });
    expect(effects.map(({ text }) => text)).not.toContain("second");
  });

  test("ask nothing of a person when the turn was cancelled by another server before", async () => {
    const session = await server(0).open();
    const results = session.turn({ id: "t" }).dispatchAll([call("asks", "late")], { messageId: "m" });
    const deciding = await vi.waitFor(() => {
      const found = effects.find(({ text }) => text === "decides on late");
      if (found === undefined) throw new Error("is not decided on");
      return found;
    }, 10_000);
    await (await (await server(1 - deciding.by).find(session.id))?.findTurn("t"))?.cancel();
    expect((await results)[0]).toMatchObject({ error: { code: "cancelled", effect: "none" } });
    expect(await listed()).not.toContain(session.id);
  });

  test("begin no call whose turn was cancelled by another server while it was decided on", async () => {
    const session = await server(0).open();
    const results = session
      .turn({ id: "t" })
      .dispatchAll([call("single", "late to begin")], { messageId: "m" });
    const deciding = await vi.waitFor(() => {
      const found = effects.find(({ text }) => text === "decides on late to begin");
      if (found === undefined) throw new Error("is not decided on");
      return found;
    }, 10_000);
    await (await (await server(1 - deciding.by).find(session.id))?.findTurn("t"))?.cancel();
    expect((await results)[0]).toMatchObject({ error: { code: "cancelled", effect: "none" } });
    expect(effects.map(({ text }) => text)).not.toContain("late to begin");
  });

  test("report a call as unknown whose invocation was killed", async () => {
    const session = await server(0).open();
    const results = session.turn({ id: "t" }).dispatchAll([call("single", "killed")], { messageId: "m" });
    await vi.waitFor(() => expect(effects.map(({ text }) => text)).toContain("killed"), 10_000);
    const [running] = await query(
      `select id from sys_invocation where target_handler_name = 'call' and target_service_key = '${session.id}'`,
    );
    await fetch(`${node.admin}/invocations/${running?.["id"]}/kill`, { method: "PATCH" });
    expect((await results)[0]).toMatchObject({ error: { code: "execution_error", effect: "unknown" } });
  });

  test("answer a message whose call a hook aborted, even when Restate has forgotten it", async () => {
    const session = await server(0).open();
    const turn = session.turn({ id: "t" });
    const calls = [call("read", "")];
    expect(await turn.dispatchAll(calls, { messageId: "m" })).toEqual([null]);
    const ended = await query(
      `select id from sys_invocation where target_service_key = '${session.id}' and status = 'completed'`,
    );
    for (const { id } of ended) await fetch(`${node.admin}/invocations/${id}/purge`, { method: "PATCH" });
    const [again] = await turn.dispatchAll(calls, { messageId: "m" });
    expect(again).toMatchObject({ success: false, error: { code: "cancelled", effect: "none" } });
  });
});
