import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, describe, expect, test } from "vitest";
import type { SessionLimits } from "../../src/sessions/options.ts";
import type { Session } from "../../src/sessions/session.ts";
import { MemorySessionStore } from "../../src/sessions/store/memory-store.ts";
import { SqliteSessionStore } from "../../src/sessions/store/sqlite-store.ts";
import { answerTo, call, Gate, testSessions, tool } from "./harness.ts";

const folder = mkdtempSync(join(tmpdir(), "restart-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** The execution of a call, as soon as it has ended. */
async function executionOf(session: Session, turnId: string, index = 0): Promise<unknown> {
  const turn = await session.findTurn(turnId);
  for (;;) {
    const execution = (await turn?.messages())?.at(-1)?.executions[index];
    if (execution !== undefined) return execution;
    await nextTurn();
  }
}

describe("The turns of an earlier process", () => {
  test("are known: no new turn can have their ids", async () => {
    const store = new MemorySessionStore();
    const before = await testSessions([tool("read", "read")], { store });
    await (await before.sessions.open({ id: "s1" })).turn({ id: "t1" }).dispatch(call("c1", "read"));
    await before.sessions.close();
    const after = await testSessions([tool("read", "read")], { store });
    const session = after.sessions.get("s1") as Session;
    expect(() => session.turn({ id: "t1" })).toThrow("already");
    const turn = await session.findTurn("t1");
    expect(await session.findTurn("t1")).toBe(turn);
    expect((await turn?.messages())?.[0]?.executions).toMatchObject([{ success: true }]);
    await after.sessions.close();
  });

  test("count among the latest 1,000, and the oldest is forgotten first", async () => {
    const store = new MemorySessionStore();
    store.addSession({ id: "s1", mode: "cautious", kind: "main", openedAt: 0 });
    for (let index = 0; index < 1_000; index++) {
      const ids = { sessionId: "s1", turnId: `t${index}`, messageId: "m" };
      store.addMessage({ ...ids, calls: [], receivedAt: index });
    }
    const { sessions } = await testSessions([tool("read", "read")], { store });
    const session = sessions.get("s1") as Session;
    await session.turn({ id: "new" }).dispatch(call("c1", "read"));
    expect(store.turnIds("s1")).toHaveLength(1_000);
    expect(await session.findTurn("t0")).toBeUndefined();
    expect(await session.findTurn("t1")).toBeDefined();
    await sessions.close();
  });
});

test("A turn whose message waits for another one is not forgotten", async () => {
  const gate = new Gate();
  const store = new MemorySessionStore();
  const { sessions } = await testSessions([tool("wait", "read", gate.host), tool("read", "read")], { store });
  const session = await sessions.open({ id: "s1" });
  const first = session.turn({ id: "first" }).dispatchAll([call("c1", "wait")]);
  await gate.hasBegun(1);
  const second = session.turn({ id: "second" }).dispatchAll([call("c2", "read")]);
  await nextTurn();
  for (let index = 0; index < 1_000; index++) session.turn();
  await nextTurn();
  gate.release("c1");
  await first;
  expect(await second).toMatchObject([{ success: true }]);
  expect((await (await session.findTurn("second"))?.messages())?.length).toBe(1);
  await sessions.close();
});

test("Cancelling a turn waits for its messages that wait for others", async () => {
  const gate = new Gate();
  const { sessions } = await testSessions([tool("wait", "read", gate.host), tool("read", "read")]);
  const session = await sessions.open();
  void session.turn().dispatchAll([call("c1", "wait")]);
  await gate.hasBegun(1);
  const turn = session.turn();
  let hasEnded = false;
  const second = turn.dispatchAll([call("c2", "read")]);
  void second.then(() => {
    hasEnded = true;
  });
  await turn.cancel();
  await Promise.resolve();
  expect(hasEnded).toBe(true);
  expect(await second).toMatchObject([{ error: { code: "cancelled", effect: "none" } }]);
  await sessions.close();
});

test("Closing a session twice waits for the same end", async () => {
  const gate = new Gate();
  const { sessions } = await testSessions([
    tool("wait", "read", async (_input, { callId, signal }) => {
      gate.begun.push(callId);
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      // Takes a while to stop.
      for (let turn = 0; turn < 20; turn++) await nextTurn();
      gate.ended.push(callId);
    }),
  ]);
  const session = await sessions.open();
  void session.turn().dispatch(call("c1", "wait"));
  while (gate.begun.length === 0) await nextTurn();
  const first = session.close();
  await session.close();
  expect(gate.ended).toEqual(["c1"]);
  await first;
  await sessions.close();
});

test("A session that cannot be removed from the store stays, and can be closed again", async () => {
  const store = new MemorySessionStore();
  const { sessions } = await testSessions([], { store });
  const session = await sessions.open({ id: "s1" });
  const remove = store.removeSession.bind(store);
  store.removeSession = () => {
    throw new Error("the disk is full");
  };
  await expect(session.close()).rejects.toMatchObject({ code: "session_store_failed" });
  expect(sessions.get("s1")).toBe(session);
  store.removeSession = remove;
  await session.close();
  expect(sessions.get("s1")).toBeUndefined();
  expect(store.sessions()).toEqual([]);
  await sessions.close();
});

describe("Quotas after a restart", () => {
  const tools = [tool("read", "read"), tool("write_file", "write"), tool("list", "read")];

  async function restarted(
    limits: SessionLimits,
    store: MemorySessionStore,
  ): Promise<Awaited<ReturnType<typeof testSessions>>> {
    return testSessions(tools, { store, limits });
  }

  test("count no call that was refused", async () => {
    const store = new MemorySessionStore();
    const limits = { calls: 4, callsPerTool: { read: 1 } };
    const before = await restarted(limits, store);
    const turn = (await before.sessions.open({ id: "s1" })).turn();
    for (const id of ["c1", "c2", "c3", "c4"]) await turn.dispatch(call(id, "read"));
    await before.sessions.close();
    const after = await restarted(limits, store);
    const again = (after.sessions.get("s1") as Session).turn();
    expect(await again.dispatch(call("c5", "list"))).toMatchObject({ success: true });
    await after.sessions.close();
  });

  test("run a call that was counted, although it used the limit up", async () => {
    const store = new MemorySessionStore();
    const limits = { callsPerTool: { write_file: 1 } };
    const before = await restarted(limits, store);
    const session = await before.sessions.open({ id: "s1" });
    void session.turn({ id: "t1" }).dispatch(call("c1", "write_file"));
    const confirmation = await before.nextConfirmation();
    await before.sessions.close();
    const after = await restarted(limits, store);
    const reopened = after.sessions.get("s1") as Session;
    await reopened.answer(confirmation.id, answerTo(confirmation, "allow"));
    expect(await executionOf(reopened, "t1")).toMatchObject({ success: true });
    expect(await reopened.turn().dispatch(call("c2", "write_file"))).toMatchObject({
      error: { code: "permission_denied" },
    });
    await after.sessions.close();
  });

  test("refuse a call that was refused, even if its end was lost", async () => {
    const store = new MemorySessionStore();
    const limits = { callsPerTool: { read: 1 } };
    const before = await restarted(limits, store);
    const turn = (await before.sessions.open({ id: "s1" })).turn({ id: "t1" });
    await turn.dispatch(call("c1", "read"));
    // The process ends here: it writes nothing any more.
    const end = store.end.bind(store);
    store.end = () => {};
    await turn.dispatch(call("c2", "read"));
    store.end = end;
    const after = await restarted(limits, store);
    expect(await executionOf(after.sessions.get("s1") as Session, "t1")).toMatchObject({
      error: { code: "permission_denied" },
    });
    await after.sessions.close();
  });
});

test("A call whose question was cancelled before the process ended is cancelled after the restart", async () => {
  const store = new MemorySessionStore();
  const tools = [tool("write_file", "write")];
  const before = await testSessions(tools, { store });
  const session = await before.sessions.open({ id: "s1" });
  const turn = session.turn({ id: "t1" });
  const result = turn.dispatch(call("c1", "write_file"));
  await before.nextConfirmation();
  const end = store.end.bind(store);
  store.end = () => {};
  await turn.cancel();
  await result;
  store.end = end;
  const after = await testSessions(tools, { store });
  expect(await executionOf(after.sessions.get("s1") as Session, "t1")).toMatchObject({
    error: { code: "cancelled", effect: "none", message: "Tool call was cancelled" },
  });
  await after.sessions.close();
});

test.each([
  "none",
  "read",
] as const)("A call of the class %s waits until its claim is durable", async (sideEffects) => {
  const store = new SqliteSessionStore(join(folder, `${sideEffects}.sqlite`));
  const claimed = Promise.withResolvers<void>();
  const claim = store.claim.bind(store);
  store.claim = async (identity) => {
    await claimed.promise;
    return claim(identity);
  };
  const ran: string[] = [];
  const { sessions, events } = await testSessions(
    [tool("look", sideEffects, (_input, { callId }) => ran.push(callId))],
    { store },
  );
  const result = (await sessions.open()).turn().dispatch(call("c1", "look"));
  while (!events.some(({ type }) => type === "tool.decided")) await nextTurn();
  for (let turn = 0; turn < 20; turn++) await nextTurn();
  expect(ran).toEqual([]);
  claimed.resolve();
  expect(await result).toMatchObject({ success: true });
  expect(ran).toEqual(["c1"]);
  await sessions.close();
});
