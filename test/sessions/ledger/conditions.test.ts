import { afterEach, describe, expect, test, vi } from "vitest";
import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import type { Tool } from "../../../src/engine/tool.ts";
import type { RuntimePolicy } from "../../../src/policy/policy.ts";
import type { HistoryCondition } from "../../../src/policy/rule/rule.ts";
import { RulePolicy } from "../../../src/policy/rule/rule-policy.ts";
import { ToolFailure } from "../../../src/tool/tool-failure.ts";
import { answerTo, call, Gate, type TestSessions, testSessions, tool } from "../harness.ts";

const ANN = { id: "ann", kind: "user" } as const;
const ALLOW = { effect: "allow", sandboxes: ["host"] } as const;
const IN_QUICKJS = { effect: "allow", sandboxes: ["quickjs"] } as const;
const ASK = { effect: "ask", sandboxes: ["host"] } as const;

/** Allows `pay` under conditions, and every other tool. */
function paying(...history: readonly HistoryCondition[]): RulePolicy {
  return new RulePolicy({
    rules: [
      { ...ALLOW, tools: ["pay"], history },
      { ...ALLOW, tools: ["look", "approve"] },
    ],
  });
}

const pay = tool("pay", "none", undefined, {
  inputSchema: { type: "object", properties: { amount: {} }, additionalProperties: true },
});
const TOOLS = [pay, tool("look", "none"), tool("approve", "none")];
const ONCE: HistoryCondition = { count: ["pay"], in: "session", lessThan: 1 };

function successes(results: readonly (ToolExecution | null)[]): readonly boolean[] {
  return results.map((result) => result?.success === true);
}

describe("a count", () => {
  test("lets one of four calls through that are decided on at once", async () => {
    const { sessions } = await testSessions(TOOLS, { policy: paying(ONCE) });
    const turn = (await sessions.open()).turn();
    const results = await turn.dispatchAll(["a", "b", "c", "d"].map((id) => call(id, "pay")));
    expect(successes(results)).toEqual([true, false, false, false]);
    expect(results[1]?.error).toMatchObject({ code: "permission_denied", effect: "none" });
    expect(successes([await turn.dispatch(call("e", "pay"))])).toEqual([false]);
  });

  test("lets one call through under a policy that takes its time", async () => {
    const rules = paying(ONCE);
    const policy: RuntimePolicy = {
      usesHistory: true,
      check: async (request) => {
        const decision = rules.check(request);
        await new Promise(setImmediate);
        return decision;
      },
    };
    const { sessions } = await testSessions(TOOLS, { policy });
    const turn = (await sessions.open()).turn();
    const results = await turn.dispatchAll(["a", "b", "c", "d"].map((id) => call(id, "pay")));
    expect(successes(results).filter(Boolean)).toHaveLength(1);
  });

  test("is for each turn with `in: turn`", async () => {
    const policy = paying({ count: ["*"], in: "turn", lessThan: 2 });
    const { sessions } = await testSessions(TOOLS, { policy });
    const session = await sessions.open();
    for (const turn of [session.turn(), session.turn()]) {
      const calls = [call("a", "look"), call("b", "pay"), call("c", "pay")];
      expect(successes(await turn.dispatchAll(calls))).toEqual([true, true, false]);
    }
  });

  test("is for each session, or for all sessions of a principal, also those that are closed", async () => {
    const limits = { within: "1h", lessThan: 1 } as const;
    const bySession = await testSessions(TOOLS, { policy: paying({ count: ["pay"], ...limits }) });
    const byPrincipal = await testSessions(TOOLS, {
      policy: paying({ count: ["pay"], ...limits, by: "principal" }),
    });
    const payIn = async ({ sessions }: TestSessions, id: string): Promise<boolean> => {
      const session = await sessions.open({ principal: { ...ANN, id } });
      const result = await session.turn().dispatch(call("a", "pay"));
      await session.close();
      return result?.success === true;
    };
    expect([await payIn(bySession, "ann"), await payIn(bySession, "ann")]).toEqual([true, true]);
    expect([await payIn(byPrincipal, "ann"), await payIn(byPrincipal, "ann")]).toEqual([true, false]);
    expect(await payIn(byPrincipal, "bob")).toBe(true);
    const nobody = await byPrincipal.sessions.open();
    expect(await nobody.turn().dispatch(call("a", "pay"))).toMatchObject({ success: false });
  });

  test("has the calls that tools make", async () => {
    const quickjs = (name: string, source: string): Tool =>
      ({ ...tool(name, "none"), host: undefined, quickjs: { source } }) as unknown as Tool;
    const tools = [
      quickjs("nest", "export default (input, { tools }) => tools.call('look', {});"),
      quickjs("look", "export default () => 'seen'"),
    ];
    const policy = new RulePolicy({
      rules: [
        { ...IN_QUICKJS, tools: ["nest"], capabilities: { tools: ["*"] } },
        { ...IN_QUICKJS, tools: ["look"], history: [{ count: ["look"], in: "turn", lessThan: 2 }] },
      ],
    });
    const { sessions } = await testSessions(tools, { policy });
    const turn = (await sessions.open()).turn();
    const results: (ToolExecution | null)[] = [];
    for (const id of ["a", "b", "c"]) results.push(await turn.dispatch(call(id, "nest")));
    expect(successes(results)).toEqual([true, true, false]);
  });

  test("is given back by a call that was denied, failed without effect, or never ran", async () => {
    const refuse = (): never => {
      throw new ToolFailure("execution_error", "no", { effect: "none" });
    };
    const failing = tool("pay", "network", refuse, { confirm: "auto" });
    const failed = await testSessions([failing], { policy: paying(ONCE) });
    const turn = (await failed.sessions.open()).turn();
    for (const id of ["a", "b"]) {
      expect((await turn.dispatch(call(id, "pay")))?.error).toMatchObject({ code: "execution_error" });
    }
    const hooked = await testSessions(TOOLS, {
      policy: paying(ONCE),
      hooks: { onToolStart: ({ callId }) => (callId === "a" ? { deny: "not now" } : undefined) },
    });
    const other = (await hooked.sessions.open()).turn();
    expect(await other.dispatch(call("a", "pay"))).toMatchObject({ success: false });
    expect(await other.dispatch(call("b", "pay"))).toMatchObject({ success: true });
  });

  test("keeps a call of a tool that reads, although its failure has no effect", async () => {
    const failing = tool("pay", "read", () => {
      throw new Error("what it had read");
    });
    const { sessions } = await testSessions([failing], { policy: paying(ONCE) });
    const turn = (await sessions.open()).turn();
    const first = await turn.dispatch(call("a", "pay"));
    expect(first?.error).toMatchObject({ code: "execution_error", effect: "none" });
    expect((await turn.dispatch(call("b", "pay")))?.error).toMatchObject({ code: "permission_denied" });
  });

  test("keeps a call that failed with an effect that is not known", async () => {
    const fail = (): never => {
      throw new Error("lost the connection");
    };
    const failing = tool("pay", "network", fail, { confirm: "auto" });
    const { sessions } = await testSessions([failing], { policy: paying(ONCE) });
    const turn = (await sessions.open()).turn();
    expect((await turn.dispatch(call("a", "pay")))?.error).toMatchObject({ code: "execution_error" });
    expect((await turn.dispatch(call("b", "pay")))?.error).toMatchObject({ code: "permission_denied" });
  });

  test("does not have calls that the policy or a quota denied", async () => {
    const policy = new RulePolicy({
      rules: [
        { ...ALLOW, tools: ["pay"], history: [ONCE] },
        { effect: "deny", tools: ["pay"], when: { "/amount": { equals: 13 } } },
      ],
    });
    const { sessions } = await testSessions(TOOLS, { policy });
    const turn = (await sessions.open()).turn();
    expect(await turn.dispatch(call("a", "pay", { amount: 13 }))).toMatchObject({ success: false });
    expect(await turn.dispatch(call("b", "pay"))).toMatchObject({ success: true });
  });
});

test("a call keeps its place in the ledger if the model names it like a nested call that fails", async () => {
  const quickjs = (name: string, source: string): Tool =>
    ({ ...tool(name, "none"), host: undefined, quickjs: { source } }) as unknown as Tool;
  const nest = quickjs(
    "nest",
    "export default (input, { tools }) => tools.call('gone', {}).catch(() => 'caught');",
  );
  const rules = [
    { ...IN_QUICKJS, tools: ["nest"], capabilities: { tools: ["*"] } },
    { ...ALLOW, tools: ["pay"], history: [ONCE] },
  ];
  const { sessions } = await testSessions([nest, pay], { policy: new RulePolicy({ rules }) });
  const session = await sessions.open();
  const together = await session.turn().dispatchAll([call("a", "nest"), call("a/1", "pay")]);
  expect(together.map((result) => result?.error?.code)).toEqual(["validation_error", "validation_error"]);
  const results: (ToolExecution | null)[] = [];
  for (const id of ["b", "b/1"]) results.push(await session.turn().dispatch(call(id, "pay")));
  expect(successes(results)).toEqual([true, false]);
});

describe("a sum", () => {
  const sum = { sum: "/amount", of: ["pay"], within: "24h" } as const;

  test("has the amounts of the calls before, of those at the same time, and of the call itself", async () => {
    const { sessions } = await testSessions(TOOLS, { policy: paying({ ...sum, atMost: 0.3 }) });
    const turn = (await sessions.open()).turn();
    const amounts = [0.1, 0.2, 0.01, 0];
    const calls = amounts.map((amount, index) => call(`c${index}`, "pay", { amount }));
    expect(successes(await turn.dispatchAll(calls))).toEqual([true, true, false, true]);
  });

  test("is not made lower by a negative amount, and not decided without an amount", async () => {
    const policy = new RulePolicy({
      rules: [
        { ...ALLOW, name: "small", tools: ["pay"], history: [{ ...sum, atMost: 100 }] },
        { ...ALLOW, name: "other", tools: ["pay"], when: { "/kind": { equals: "refund" } } },
      ],
    });
    const { sessions } = await testSessions(TOOLS, { policy });
    const turn = (await sessions.open()).turn();
    const succeeds = async (input: object): Promise<boolean> =>
      (await turn.dispatch(call("c", "pay", input as never)))?.success === true;
    expect(await succeeds({ amount: -50 })).toBe(false);
    expect(await succeeds({ amount: 1e300 })).toBe(false);
    expect(await succeeds({ amount: "5" })).toBe(false);
    expect(await succeeds({ amount: 100 })).toBe(true);
    expect(await succeeds({ amount: 1 })).toBe(false);
    // The other rule lets it through, and from then on the sum is not known.
    expect(await succeeds({ amount: -50, kind: "refund" })).toBe(true);
    expect(await succeeds({ amount: 0 })).toBe(false);
  });
});

describe("a person who is asked", () => {
  const ask = (...history: readonly HistoryCondition[]): RulePolicy =>
    new RulePolicy({
      rules: [
        { ...ALLOW, tools: ["look"], history: [{ count: ["look"], in: "session", lessThan: 9 }] },
        { ...ASK, name: "pays", tools: ["pay"], remember: "session" },
        { ...ALLOW, name: "pays a little", tools: ["pay"], history },
        {
          effect: "deny",
          tools: ["pay"],
          history: [{ sum: "/amount", of: ["pay"], in: "session", moreThan: 10 }],
        },
      ],
    });

  test("lets a call run that counts once, although the policy is consulted twice", async () => {
    const { sessions, nextConfirmation } = await testSessions(TOOLS, {
      policy: ask({ count: ["pay"], in: "session", lessThan: 1 }),
    });
    const session = await sessions.open();
    const result = session.turn().dispatch(call("a", "pay", { amount: 10 }));
    const confirmation = await nextConfirmation();
    await session.answer(confirmation.id, answerTo(confirmation, "allow"));
    expect(await result).toMatchObject({ success: true });
    const again = await session.turn().dispatch(call("b", "pay", { amount: 1 }));
    expect(again?.error).toMatchObject({ code: "permission_denied" });
  });

  test("gives back what a call took that they deny", async () => {
    const { sessions, nextConfirmation } = await testSessions(TOOLS, {
      policy: ask({ count: ["pay"], in: "session", lessThan: 1 }),
    });
    const session = await sessions.open();
    for (const decision of ["deny", "allow"] as const) {
      const result = session.turn().dispatch(call("a", "pay", { amount: 10 }));
      // It counts while it waits.
      const other = await session.turn().dispatch(call("b", "pay", { amount: 1 }));
      expect(other?.error).toMatchObject({ code: "permission_denied" });
      const confirmation = await nextConfirmation();
      await session.answer(confirmation.id, answerTo(confirmation, decision));
      expect(await result).toMatchObject({ success: decision === "allow" });
    }
  });

  test("gives back what a cancelled call took", async () => {
    const { sessions, nextConfirmation } = await testSessions(TOOLS, {
      policy: ask({ count: ["pay"], in: "session", lessThan: 1 }),
    });
    const session = await sessions.open();
    const turn = session.turn();
    const cancelled = turn.dispatch(call("a", "pay", { amount: 10 }));
    await nextConfirmation();
    await turn.cancel();
    expect((await cancelled)?.error).toMatchObject({ code: "cancelled", effect: "none" });
    const result = session.turn().dispatch(call("a", "pay", { amount: 10 }));
    const confirmation = await nextConfirmation();
    await session.answer(confirmation.id, answerTo(confirmation, "allow"));
    expect(await result).toMatchObject({ success: true });
  });

  test("can change arguments, which count as they were changed", async () => {
    const { sessions, nextConfirmation } = await testSessions(TOOLS, {
      policy: ask({ count: ["pay"], in: "session", lessThan: 3 }),
    });
    const session = await sessions.open();
    const result = session.turn().dispatch(call("a", "pay", { amount: 1 }));
    const confirmation = await nextConfirmation();
    const edit = (amount: number): Promise<unknown> =>
      session.answer(confirmation.id, { ...answerTo(confirmation, "allow"), arguments: { amount } as never });
    expect(await edit(11)).toMatchObject({ outcome: "invalid" });
    expect(await edit(9)).toMatchObject({ outcome: "resolved" });
    expect(await result).toMatchObject({ success: true, arguments: { amount: 9 } });
    const tooMuch = await session.turn().dispatch(call("b", "pay", { amount: 2 }));
    expect(tooMuch?.error).toMatchObject({ code: "permission_denied" });
    const second = session.turn().dispatch(call("c", "pay", { amount: 1 }));
    await nextConfirmation();
    await session.cancel();
    await second;
  });

  test("has confirmed an earlier call themselves for `approved`", async () => {
    const approved: HistoryCondition = { after: ["approve"], approved: true, within: "1h" };
    const policy = new RulePolicy({
      rules: [
        { ...ALLOW, tools: ["pay"], history: [approved] },
        { ...ASK, tools: ["approve"], remember: "session" },
      ],
    });
    const failing = tool("approve", "none", (input) => {
      if (input["fails"] === true) throw new Error("no");
      return "approved";
    });
    const { sessions, nextConfirmation } = await testSessions([pay, failing], { policy });
    const session = await sessions.open();
    const mayPay = async (): Promise<boolean> =>
      (await session.turn().dispatch(call("p", "pay")))?.success === true;
    const approve = async (decision: "allow" | "deny" | "always", input = {}): Promise<void> => {
      const result = session.turn().dispatch(call("a", "approve", input));
      const confirmation = await nextConfirmation();
      expect(await mayPay()).toBe(false);
      await session.answer(confirmation.id, answerTo(confirmation, decision));
      await result;
    };
    expect(await mayPay()).toBe(false);
    await approve("deny");
    expect(await mayPay()).toBe(false);
    await approve("allow", { fails: true });
    expect(await mayPay()).toBe(false);
    await approve("allow");
    expect(await mayPay()).toBe(true);
    const other = await sessions.open();
    const remembered = other.turn().dispatch(call("a", "approve"));
    const confirmation = await nextConfirmation();
    await other.answer(confirmation.id, answerTo(confirmation, "always"));
    await remembered;
    expect((await other.turn().dispatch(call("p", "pay")))?.success).toBe(true);
  });

  test("has not confirmed a call that a remembered approval let through", async () => {
    const approved: HistoryCondition = { count: ["approve"], in: "session", atLeast: 2 };
    const policy = new RulePolicy({
      rules: [
        { ...ALLOW, tools: ["pay"], history: [approved, { after: ["approve"], approved: true, in: "turn" }] },
        { ...ASK, tools: ["approve"], remember: "session" },
      ],
    });
    const { sessions, nextConfirmation } = await testSessions(TOOLS, { policy });
    const session = await sessions.open();
    const first = session.turn().dispatch(call("a", "approve"));
    const confirmation = await nextConfirmation();
    await session.answer(confirmation.id, answerTo(confirmation, "always"));
    await first;
    const turn = session.turn();
    expect(await turn.dispatch(call("b", "approve"))).toMatchObject({ success: true });
    expect(await turn.dispatch(call("c", "pay"))).toMatchObject({ success: false });
  });
});

describe("time", () => {
  afterEach(() => vi.useRealTimers());

  test("goes on when the clock of the machine is set back, and windows move with it", async () => {
    vi.useFakeTimers({ toFake: ["Date", "performance"], now: 1_000_000_000 });
    const policy = paying({ count: ["pay"], within: "1h", lessThan: 1 });
    const { sessions } = await testSessions(TOOLS, { policy });
    const session = await sessions.open();
    const mayPay = async (): Promise<boolean> =>
      (await session.turn().dispatch(call("p", "pay")))?.success === true;
    expect(await mayPay()).toBe(true);
    for (const at of [1_000_000_000, 1_000_000_000 - 7_200_000, 5, 1_000_000_000 + 3_599_000]) {
      vi.setSystemTime(at);
      expect(await mayPay()).toBe(false);
    }
    vi.advanceTimersByTime(2_000);
    expect(await mayPay()).toBe(true);
  });

  test("counts from the end of a call, which counts as long as it is under way", async () => {
    vi.useFakeTimers({ toFake: ["Date", "performance"], now: 1_000_000_000 });
    const gate = new Gate();
    const policy = paying({ count: ["pay"], within: "1h", lessThan: 1 });
    const { sessions } = await testSessions([tool("pay", "none", gate.host)], { policy });
    const session = await sessions.open();
    const first = session.turn().dispatch(call("a", "pay"));
    await gate.hasBegun(1);
    vi.advanceTimersByTime(7_200_000);
    expect((await session.turn().dispatch(call("b", "pay")))?.success).toBe(false);
    gate.release("a");
    await first;
    vi.advanceTimersByTime(3_599_999);
    expect((await session.turn().dispatch(call("c", "pay")))?.success).toBe(false);
    vi.advanceTimersByTime(1);
    const last = session.turn().dispatch(call("d", "pay"));
    await gate.hasBegun(2);
    gate.release("d");
    expect(await last).toMatchObject({ success: true });
  });
});

describe("fails closed", () => {
  afterEach(() => vi.useRealTimers());

  test("when the ledger is full, as far as conditions look back to what was forgotten", async () => {
    vi.useFakeTimers({ toFake: ["Date", "performance"], now: 1_000_000_000 });
    const limits = { ledgerEntries: 3 };
    const window: HistoryCondition = { count: ["pay"], within: "1h", lessThan: 3 };
    const { sessions } = await testSessions(TOOLS, { policy: paying(window), limits });
    const session = await sessions.open();
    const dispatch = async (name: string): Promise<boolean> =>
      (await session.turn().dispatch(call("p", name)))?.success === true;
    expect(await dispatch("pay")).toBe(true);
    for (let count = 0; count < 3; count++) await dispatch("look");
    expect(await dispatch("pay")).toBe(false);
    vi.advanceTimersByTime(3_600_000);
    expect(await dispatch("pay")).toBe(true);
  });

  test("when a policy begins to use the history while the session goes on", async () => {
    vi.useFakeTimers({ toFake: ["Date", "performance"], now: 1_000_000_000 });
    const { promise: reloaded, resolve: reload } = Promise.withResolvers<void>();
    let policy: RuntimePolicy = new RulePolicy({ rules: [{ ...ALLOW, tools: ["*"] }] });
    const swapped: RuntimePolicy = {
      get usesHistory() {
        return policy.usesHistory;
      },
      check: (request) => policy.check(request),
    };
    const { sessions } = await testSessions(TOOLS, {
      policy: swapped,
      hooks: { onToolCall: ({ id }) => (id === "late" ? reloaded : undefined) },
    });
    const session = await sessions.open({ principal: ANN });
    const turn = session.turn();
    const mayPay = async (id = "p"): Promise<boolean> =>
      (await turn.dispatch(call(id, "pay")))?.success === true;
    expect(await mayPay()).toBe(true);
    const late = mayPay("late");
    policy = paying(ONCE);
    expect(await mayPay()).toBe(false);
    expect((await session.turn().dispatch(call("p", "pay")))?.success).toBe(false);
    expect((await (await sessions.open()).turn().dispatch(call("p", "pay")))?.success).toBe(true);
    policy = paying({ count: ["pay"], within: "1h", lessThan: 1, by: "principal" });
    expect(await mayPay()).toBe(false);
    vi.advanceTimersByTime(1_800_000);
    // Its message came before the policy used the history: it is not in the ledger.
    policy = new RulePolicy({ rules: [{ ...ALLOW, tools: ["*"] }] });
    reload();
    expect(await late).toBe(true);
    policy = paying({ count: ["pay"], within: "1h", lessThan: 1, by: "principal" });
    vi.advanceTimersByTime(1_800_000);
    expect(await mayPay()).toBe(false);
    vi.advanceTimersByTime(3_600_000);
    expect(await mayPay()).toBe(true);
  });

  test("when a message came before the policy used the history", async () => {
    const { promise: reloaded, resolve: reload } = Promise.withResolvers<void>();
    let policy: RuntimePolicy = new RulePolicy({ rules: [{ ...ALLOW, tools: ["*"] }] });
    const swapped: RuntimePolicy = {
      get usesHistory() {
        return policy.usesHistory;
      },
      check: (request) => policy.check(request),
    };
    const { sessions } = await testSessions(TOOLS, {
      policy: swapped,
      hooks: { onToolCall: () => reloaded },
    });
    const result = (await sessions.open()).turn().dispatch(call("p", "pay"));
    policy = paying(ONCE);
    reload();
    expect(await result).toMatchObject({ success: false });
  });
});
