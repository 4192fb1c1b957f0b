import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { Tool } from "../../src/engine/tool.ts";
import type { SessionsOptions } from "../../src/sessions/options.ts";
import type { Session } from "../../src/sessions/session.ts";
import { MemorySessionStore } from "../../src/sessions/store/memory-store.ts";
import { SqliteSessionStore } from "../../src/sessions/store/sqlite-store.ts";
import type { SessionStore } from "../../src/sessions/store/store.ts";
import { answerTo, call, Gate, type TestSessions, testSessions, tool } from "./harness.ts";

const folder = mkdtempSync(join(tmpdir(), "sessions-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;

/** Starts processes over one store, one after the other; the store stays when one ends. */
const STORES: [string, () => () => SessionStore][] = [
  [
    "in a file",
    () => {
      const file = join(folder, `${files++}.sqlite`);
      return () => new SqliteSessionStore(file);
    },
  ],
  [
    "in memory",
    () => {
      const store = new MemorySessionStore();
      return () => store;
    },
  ],
];

/** The executions of the only message of a turn, as soon as all calls have ended. */
async function executionsOf(session: Session, turnId: string): Promise<readonly unknown[]> {
  const turn = await session.findTurn(turnId);
  for (;;) {
    const [message] = (await turn?.messages()) ?? [];
    const executions = message?.executions ?? [];
    if (executions.length > 0 && !executions.includes(undefined)) return executions;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** What a store keeps of executions. */
const plain = (executions: unknown): unknown => JSON.parse(JSON.stringify(executions));

describe.each(STORES)("with a store %s, after a restart", (_where, newStore) => {
  const setting = (
    tools: readonly Tool[],
    more: Partial<SessionsOptions> = {},
  ): (() => Promise<TestSessions>) => {
    const open = newStore();
    return () => testSessions(tools, { ...more, store: open() });
  };

  test("a question is open again as it was, and its answer runs the call", async () => {
    const ran: unknown[] = [];
    const start = setting([tool("write_file", "write", (input) => ran.push(input))]);
    const before = await start();
    const session = await before.sessions.open({ id: "s1", principal: { id: "ann", kind: "user" } });
    const lost = session.turn({ id: "t1" }).dispatchAll([call("c1", "write_file", { path: "a" })]);
    const confirmation = await before.nextConfirmation();
    await before.sessions.close();
    expect(await lost).toMatchObject([{ error: { code: "cancelled", effect: "none" } }]);
    expect(before.events.some(({ type }) => type === "tool.confirmation_resolved")).toBe(false);

    const after = await start();
    expect(after.sessions.openConfirmations()).toEqual([confirmation]);
    const reopened = after.sessions.get("s1") as Session;
    expect(reopened.principal).toEqual({ id: "ann", kind: "user" });
    await reopened.answer(confirmation.id, answerTo(confirmation, "allow"));
    expect(await executionsOf(reopened, "t1")).toMatchObject([
      { success: true, confirmation: { by: "eve", digest: confirmation.digest } },
    ]);
    expect(ran).toEqual([{ path: "a" }]);
    expect(after.sessions.openConfirmations()).toEqual([]);
    await after.sessions.close();
  });

  test("a message that comes again with the same calls has the same results", async () => {
    const ran: string[] = [];
    const start = setting([tool("run", "none", (_input, { callId }) => ran.push(callId))]);
    const before = await start();
    const turn = (await before.sessions.open({ id: "s1" })).turn({ id: "t1" });
    const calls = [call("c1", "run"), call("c2", "run")];
    const results = await turn.dispatchAll(calls, { messageId: "m1" });
    expect(plain(await turn.dispatchAll(calls, { messageId: "m1" }))).toEqual(plain(results));
    await expect(turn.dispatchAll([call("c1", "run")], { messageId: "m1" })).rejects.toMatchObject({
      code: "message_conflict",
    });
    await before.sessions.close();
    const after = await start();
    const again = await after.sessions.get("s1")?.findTurn("t1");
    expect(plain(await again?.dispatchAll(calls, { messageId: "m1" }))).toEqual(plain(results));
    expect(ran).toEqual(["c1", "c2"]);
    await after.sessions.close();
  });

  test("approvals, quotas and modes are as they were", async () => {
    const start = setting([tool("write_file", "write"), tool("send", "network")], {
      limits: { callsPerTool: { write_file: 3 } },
    });
    const before = await start();
    const session = await before.sessions.open({ id: "s1" });
    const result = session.turn().dispatch(call("c1", "write_file"));
    const confirmation = await before.nextConfirmation();
    await session.answer(confirmation.id, answerTo(confirmation, "always"));
    await result;
    await session.turn().dispatch(call("c2", "write_file"));
    await before.sessions.close();

    const after = await start();
    const reopened = after.sessions.get("s1") as Session;
    const turn = reopened.turn();
    expect(await turn.dispatch(call("c3", "write_file"))).toMatchObject({ success: true });
    expect(await turn.dispatch(call("c4", "write_file"))).toMatchObject({
      error: { code: "permission_denied" },
    });
    await reopened.setMode("autonomous");
    expect(await turn.dispatch(call("c5", "send"))).toMatchObject({ success: true });
    await after.sessions.close();
    const last = await start();
    expect(last.sessions.get("s1")?.mode).toBe("autonomous");
    await last.sessions.close();
  });

  test("a question whose call would get more is asked anew, and the old one is gone", async () => {
    let description = "one";
    const open = newStore();
    const start = (): Promise<TestSessions> =>
      testSessions([{ ...tool("write_file", "write"), description }], { store: open() });
    const before = await start();
    const session = await before.sessions.open({ id: "s1" });
    void session.turn({ id: "t1" }).dispatch(call("c1", "write_file"));
    const confirmation = await before.nextConfirmation();
    await before.sessions.close();
    description = "another";
    const after = await start();
    // Who listens early sees the old one, too.
    let renewed = await after.nextConfirmation();
    if (renewed.id === confirmation.id) renewed = await after.nextConfirmation();
    expect(renewed.digest).not.toBe(confirmation.digest);
    expect(await after.sessions.answer(confirmation.id, answerTo(confirmation, "allow"))).toEqual({
      outcome: "gone",
    });
    await after.sessions.answer(renewed.id, answerTo(renewed, "allow"));
    const reopened = after.sessions.get("s1") as Session;
    expect(await executionsOf(reopened, "t1")).toMatchObject([{ success: true }]);
    await after.sessions.close();
  });

  test("a session that was closed is gone", async () => {
    const start = setting([]);
    const before = await start();
    await (await before.sessions.open({ id: "s1" })).close();
    await before.sessions.close();
    const after = await start();
    expect(after.sessions.list()).toEqual([]);
    await after.sessions.close();
  });
});

test("a call that had begun when the process ended is not run again, and one that had not begun runs", async () => {
  const gate = new Gate();
  const tools = [tool("wait", "write", gate.host), tool("read", "read")];
  const file = join(folder, "begun.sqlite");
  const store = new SqliteSessionStore(file);
  const limits = { concurrency: 1 };
  const before = await testSessions(tools, { store, limits });
  const session = await before.sessions.open({ id: "s1", mode: "autonomous" });
  const calls = [call("c1", "wait"), call("c2", "read")];
  const lost = session.turn({ id: "t1" }).dispatchAll(calls, { messageId: "m1" });
  await gate.hasBegun(1);
  // The process ends here: it writes nothing any more.
  store.end = async () => {};
  await store.close();

  const after = await testSessions(tools, { store: new SqliteSessionStore(file), limits });
  const reopened = after.sessions.get("s1") as Session;
  const message = "Tool 'wait' was interrupted; whether it took effect is not known";
  const interrupted = { error: { code: "execution_error", effect: "unknown", message } };
  expect(await executionsOf(reopened, "t1")).toMatchObject([interrupted, { success: true }]);
  expect(gate.begun).toEqual(["c1"]);
  const again = (await reopened.findTurn("t1"))?.dispatchAll(calls, { messageId: "m1" });
  expect(await again).toMatchObject([interrupted, { success: true }]);
  expect(gate.begun).toEqual(["c1"]);
  gate.release("c1");
  await lost;
  await after.sessions.close();
});
