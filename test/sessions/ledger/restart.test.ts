import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import { HostPolicy, type RuntimePolicy } from "../../../src/policy/policy.ts";
import type { HistoryCondition } from "../../../src/policy/rule/rule.ts";
import { RulePolicy } from "../../../src/policy/rule/rule-policy.ts";
import type { Session } from "../../../src/sessions/session.ts";
import { MemorySessionStore } from "../../../src/sessions/store/memory-store.ts";
import { SqliteSessionStore } from "../../../src/sessions/store/sqlite-store.ts";
import type { SessionStore } from "../../../src/sessions/store/store.ts";
import { answerTo, call, Gate, type TestSessions, testSessions, tool } from "../harness.ts";

const folder = mkdtempSync(join(tmpdir(), "ledger-"));
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(() => vi.useRealTimers());
let files = 0;

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

const ANN = { id: "ann", kind: "user" } as const;
const SPENDS: HistoryCondition = { sum: "/amount", of: ["pay"], within: "24h", atMost: 100, by: "principal" };

function paying(...history: readonly HistoryCondition[]): RulePolicy {
  const rule = { effect: "allow", sandboxes: ["host"] } as const;
  return new RulePolicy({
    rules: [
      { ...rule, tools: ["pay"], history },
      { ...rule, tools: ["look"] },
    ],
  });
}

async function pays(session: Session, amount: number, turn = session.turn()): Promise<boolean> {
  return (await turn.dispatch(call("p", "pay", { amount })))?.success === true;
}

describe.each(STORES)("with a store %s, after a restart", (_where, newStore) => {
  const setting = (): ((policy: RuntimePolicy, pay?: ReturnType<typeof tool>) => Promise<TestSessions>) => {
    const open = newStore();
    return (policy, pay = tool("pay", "none")) =>
      testSessions([pay, tool("look", "none")], { policy, store: open() });
  };

  test("a principal has spent what it spent before, also in sessions that are closed", async () => {
    const start = setting();
    const before = await start(paying(SPENDS));
    const closed = await before.sessions.open({ principal: ANN });
    expect(await pays(closed, 60)).toBe(true);
    await closed.close();
    await before.sessions.close();
    const { sessions } = await start(paying(SPENDS));
    const session = await sessions.open({ principal: ANN });
    expect([await pays(session, 41), await pays(session, 40)]).toEqual([false, true]);
  });

  test("a session and its turns go on counting", async () => {
    const start = setting();
    const conditions: readonly HistoryCondition[] = [
      { count: ["pay"], in: "session", lessThan: 3 },
      { count: ["pay"], in: "turn", lessThan: 2 },
    ];
    const before = await start(paying(...conditions));
    const opened = await before.sessions.open({ id: "s" });
    expect(await pays(opened, 1, opened.turn({ id: "t" }))).toBe(true);
    await before.sessions.close();
    const { sessions } = await start(paying(...conditions));
    const session = sessions.get("s") as Session;
    const turn = await session.findTurn("t");
    expect([await pays(session, 1, turn), await pays(session, 1, turn)]).toEqual([true, false]);
    expect([await pays(session, 1), await pays(session, 1)]).toEqual([true, false]);
  });

  test("a call that waited for a person counts once", async () => {
    const start = setting();
    const policy = new RulePolicy({
      rules: [
        {
          effect: "ask",
          sandboxes: ["host"],
          tools: ["pay"],
          history: [{ count: ["pay"], in: "turn", lessThan: 1 }],
        },
        { effect: "deny", tools: ["pay"], history: [{ count: ["pay"], in: "session", atLeast: 1 }] },
      ],
    });
    const before = await start(policy);
    const opened = await before.sessions.open({ id: "s" });
    void opened.turn({ id: "t" }).dispatchAll([call("p", "pay")]);
    const confirmation = await before.nextConfirmation();
    await before.sessions.close();
    const { sessions } = await start(policy);
    const session = sessions.get("s") as Session;
    await session.answer(confirmation.id, answerTo(confirmation, "allow"));
    const turn = await session.findTurn("t");
    for (;;) {
      const [execution] = (await turn?.messages())?.[0]?.executions ?? [];
      if (execution !== undefined) {
        expect(execution).toMatchObject({ success: true });
        break;
      }
      await new Promise(setImmediate);
    }
    expect(await pays(session, 1)).toBe(false);
  });

  test("calls are missing for as long as a policy did not use the history", async () => {
    vi.useFakeTimers({ toFake: ["Date", "performance"], now: 1_000_000_000 });
    const start = setting();
    for (const policy of [paying(SPENDS), new HostPolicy()]) {
      const { sessions } = await start(policy);
      expect(await pays(await sessions.open({ principal: ANN }), 60)).toBe(true);
      await sessions.close();
    }
    vi.advanceTimersByTime(1_000);
    const third = await start(paying(SPENDS));
    expect(await pays(await third.sessions.open({ principal: ANN }), 1)).toBe(false);
    await third.sessions.close();
    vi.advanceTimersByTime(86_400_000);
    const { sessions } = await start(paying(SPENDS));
    const session = await sessions.open({ principal: ANN });
    expect([await pays(session, 90), await pays(session, 20)]).toEqual([true, false]);
  });

  test("a clock that was set back meanwhile opens no window again", async () => {
    vi.useFakeTimers({ toFake: ["Date", "performance"], now: 1_000_000_000 });
    const start = setting();
    const before = await start(paying(SPENDS));
    expect(await pays(await before.sessions.open({ principal: ANN }), 60)).toBe(true);
    await before.sessions.close();
    vi.setSystemTime(5);
    const { sessions } = await start(paying(SPENDS));
    const session = await sessions.open({ principal: ANN });
    expect([await pays(session, 41), await pays(session, 40)]).toEqual([false, true]);
  });
});

test("a call that ran when the process ended counts, as it may have taken effect", async () => {
  vi.useFakeTimers({ toFake: ["Date", "performance"], now: 1_000_000_000 });
  const gate = new Gate();
  const store = new MemorySessionStore();
  const start = (pay: ReturnType<typeof tool>): Promise<TestSessions> =>
    testSessions([pay], { policy: paying(SPENDS), store });
  const before = await start(tool("pay", "write", gate.host));
  const lost = await before.sessions.open({ principal: ANN, mode: "autonomous" });
  const result = lost.turn().dispatch(call("p", "pay", { amount: 60 }));
  await gate.hasBegun(1);
  // The first process does not close its sessions, nor write the end of the call before the next one reads the store.
  vi.advanceTimersByTime(86_400_000);
  const { sessions } = await start(tool("pay", "none"));
  const session = await sessions.open({ principal: ANN });
  expect([await pays(session, 41), await pays(session, 40)]).toEqual([false, true]);
  vi.advanceTimersByTime(86_400_000);
  expect(await pays(session, 100)).toBe(true);
  gate.release("p");
  await result;
});

test("a principal whose calls were pushed out by those of others is unclear, even after a restart", async () => {
  const store = new MemorySessionStore();
  const start = (): Promise<TestSessions> =>
    testSessions([tool("pay", "none"), tool("look", "none")], {
      policy: paying(SPENDS),
      store,
      limits: { ledgerEntries: 1 },
    });
  const before = await start();
  const ann = await before.sessions.open({ principal: ANN });
  expect(await pays(ann, 60)).toBe(true);
  const bob = (await before.sessions.open({ principal: { ...ANN, id: "bob" } })).turn();
  for (let count = 0; count < 10; count++) await bob.dispatch(call("l", "look"));
  expect(await pays(ann, 1)).toBe(false);
  await before.sessions.close();
  expect(store.ledger.ledgerState()).toMatchObject({ entries: { length: 10 } });
  const { sessions } = await start();
  expect(await pays(await sessions.open({ principal: ANN }), 1)).toBe(false);
});

test("a store without a ledger makes conditions unclear that look back beyond the restart", async () => {
  const store: SessionStore = new MemorySessionStore();
  Object.defineProperty(store, "ledger", { value: undefined });
  const start = (): Promise<TestSessions> =>
    testSessions([tool("pay", "none")], { policy: paying(SPENDS), store });
  const before = await start();
  await before.sessions.open({ id: "s", principal: ANN });
  await before.sessions.close();
  const { sessions } = await start();
  expect(await pays(sessions.get("s") as Session, 1)).toBe(false);
});
