import { describe, expect, test } from "vitest";
import { CanonicalJson } from "../../../../src/json/canonical.ts";
import type { JsonValue } from "../../../../src/json/value.ts";
import { amountOf, type LedgerQuery, type LedgerTally } from "../../../../src/policy/call-history.ts";
import type { PolicyDecision, PolicySubject } from "../../../../src/policy/policy.ts";
import { compileHistory } from "../../../../src/policy/rule/history-conditions.ts";
import type { HistoryCondition, PolicyRule } from "../../../../src/policy/rule/rule.ts";
import { RulePolicy } from "../../../../src/policy/rule/rule-policy.ts";
import { strictest } from "../../../../src/policy/strictest.ts";

const TRANSFER: PolicySubject = {
  name: "transfer",
  sideEffects: "write",
  sandboxes: ["host"],
  inputSchema: {},
};

/** Decides on a call of `transfer` by what a ledger would say about the calls before. */
function match(
  condition: HistoryCondition,
  known: Partial<LedgerTally> | undefined,
  input: JsonValue = {},
): string {
  const tally = known && { count: 0, sum: 0n, isComplete: true, ...known };
  const { test } = compileHistory(condition);
  return test({
    input,
    sessionId: "s",
    tool: TRANSFER,
    ...(tally && { history: { ledger: { tally: () => tally } } }),
  });
}

function queryOf(condition: HistoryCondition): LedgerQuery {
  let asked: LedgerQuery | undefined;
  const tally = (query: LedgerQuery): LedgerTally => {
    asked = query;
    return { count: 0, sum: 0n, isComplete: true };
  };
  compileHistory(condition).test({
    input: {},
    sessionId: "s",
    tool: TRANSFER,
    history: { ledger: { tally } },
  });
  return asked as LedgerQuery;
}

const AT_MOST: HistoryCondition = { sum: "/amount", of: ["transfer"], within: "24h", atMost: 100 };
const LESS_THAN: HistoryCondition = { count: ["transfer"], within: "1h", lessThan: 3 };

describe("a condition on earlier calls", () => {
  test("counts the calls before the one that is decided on", () => {
    expect(match(LESS_THAN, { count: 2 })).toBe("yes");
    expect(match(LESS_THAN, { count: 3 })).toBe("no");
    const atLeast: HistoryCondition = { count: ["transfer"], in: "session", atLeast: 3 };
    expect(match(atLeast, { count: 2 })).toBe("no");
    expect(match(atLeast, { count: 3 })).toBe("yes");
  });

  test("adds the amount of the call itself, if the sum is about its tool", () => {
    expect(match(AT_MOST, { sum: amountOf(60) as bigint }, { amount: 40 })).toBe("yes");
    expect(match(AT_MOST, { sum: amountOf(60) as bigint }, { amount: 40.01 })).toBe("no");
    const ofOthers = { ...AT_MOST, of: ["pay_*"] };
    expect(match(ofOthers, { sum: amountOf(100) as bigint }, { amount: 5 })).toBe("yes");
    const moreThan: HistoryCondition = { sum: "/amount", of: ["transfer"], in: "turn", moreThan: 0.3 };
    expect(match(moreThan, { sum: amountOf(0.1) as bigint }, { amount: 0.2 })).toBe("no");
    expect(match(moreThan, { sum: amountOf(0.1) as bigint }, { amount: 0.21 })).toBe("yes");
  });

  test("is unclear if the call has no amount that can be added", () => {
    for (const input of [{}, [], "x", ...[-5, "5", null, [1], 2 ** 60].map((amount) => ({ amount }))]) {
      expect(match(AT_MOST, {}, input)).toBe("unclear");
      expect(match({ sum: "/amount", of: ["*"], in: "turn", moreThan: 5 }, {}, input)).toBe("unclear");
    }
  });

  test("requires an earlier call", () => {
    expect(match({ after: ["approve"], within: "1h" }, { count: 1 })).toBe("yes");
    expect(match({ after: ["approve"], within: "1h" }, { count: 0 })).toBe("no");
    expect(queryOf({ after: ["approve"], within: "1h" })).toMatchObject({ only: "done" });
    expect(queryOf({ after: ["approve"], within: "1h", approved: true })).toMatchObject({ only: "approved" });
  });

  test("is unclear without a session", () => {
    for (const condition of [AT_MOST, LESS_THAN, { after: ["approve"], in: "turn" } as const]) {
      expect(match(condition, undefined, { amount: 1 })).toBe("unclear");
    }
  });

  test("is unclear if calls are missing, unless those that are known decide", () => {
    expect(match(LESS_THAN, { count: 2, isComplete: false })).toBe("unclear");
    expect(match(LESS_THAN, { count: 3, isComplete: false })).toBe("no");
    expect(match(AT_MOST, { isComplete: false }, { amount: 1 })).toBe("unclear");
    expect(match(AT_MOST, { isComplete: false }, { amount: 101 })).toBe("no");
    const after: HistoryCondition = { after: ["approve"], in: "session" };
    expect(match(after, { count: 0, isComplete: false })).toBe("unclear");
    expect(match(after, { count: 1, isComplete: false })).toBe("yes");
  });

  test("asks for the calls of its scope, window and tools", () => {
    expect(queryOf(AT_MOST)).toMatchObject({ scope: "session", withinMs: 86_400_000, amount: "/amount" });
    expect(queryOf({ count: ["send_*"], in: "turn", lessThan: 1 })).toMatchObject({
      scope: "turn",
      withinMs: Number.POSITIVE_INFINITY,
      only: undefined,
      amount: undefined,
    });
    const byPrincipal = queryOf({ ...LESS_THAN, within: 5_000, by: "principal" });
    expect(byPrincipal).toMatchObject({ scope: "principal", withinMs: 5_000 });
    expect(["transfer", "transfers"].map(byPrincipal.matchesTool)).toEqual([true, false]);
  });

  test("has the key of another one only if both count the same calls", () => {
    const conditions: readonly HistoryCondition[] = [
      LESS_THAN,
      { ...LESS_THAN, within: "2h" },
      { ...LESS_THAN, count: ["transfer", "pay"] },
      { ...LESS_THAN, count: ["transfer,pay"] },
      AT_MOST,
      { ...AT_MOST, sum: "/total" },
      { ...AT_MOST, of: ["pay"] },
      { after: ["transfer"], within: "1h" },
      { after: ["transfer"], within: "1h", approved: true },
      { after: ["transfer"], in: "session" },
    ];
    expect(new Set(conditions.map((each) => queryOf(each).key)).size).toBe(conditions.length);
    expect(queryOf({ ...LESS_THAN, lessThan: 9, within: "60m" }).key).toBe(queryOf(LESS_THAN).key);
  });
});

function decide(rules: readonly PolicyRule[], count?: number): PolicyDecision {
  const input = { amount: 5 };
  const tally = { count: count ?? 0, sum: 0n, isComplete: true };
  return new RulePolicy({ rules }).check({
    callId: "c",
    sessionId: "s",
    input,
    canonical: new CanonicalJson(input),
    tool: TRANSFER,
    ...(count !== undefined && { history: { ledger: { tally: () => tally } } }),
  });
}

const rule = (effect: "allow" | "ask", history: readonly HistoryCondition[]): PolicyRule => ({
  name: "small",
  effect,
  tools: ["transfer"],
  sandboxes: ["host"],
  history,
});

describe("a rule with conditions on earlier calls", () => {
  test("allows nothing where there is no history, and denies and asks all the same", () => {
    expect(decide([rule("allow", [LESS_THAN])])).toMatchObject({ decision: "deny" });
    expect(decide([rule("ask", [LESS_THAN])])).toMatchObject({ decision: "ask" });
    expect(decide([{ effect: "deny", tools: ["*"], history: [LESS_THAN] }])).toMatchObject({
      decision: "deny",
      reason: "'rule 1' denies this call, because it is unclear whether the rule matches",
    });
  });

  test("matches if all of them hold", () => {
    const after: HistoryCondition = { after: ["approve"], in: "session" };
    expect(decide([rule("allow", [LESS_THAN, after])], 2)).toMatchObject({ decision: "allow" });
    expect(decide([rule("allow", [LESS_THAN, after])], 0)).toMatchObject({ decision: "deny" });
    expect(decide([rule("allow", [LESS_THAN, after])], 3)).toMatchObject({ decision: "deny" });
  });

  test("comes near with the condition, and without values of arguments", () => {
    const conditions: readonly HistoryCondition[] = [
      LESS_THAN,
      { ...AT_MOST, by: "principal", within: 90_000 },
      { after: ["approve", "ok_*"], approved: true, in: "session" },
    ];
    expect(decide([rule("allow", conditions)])).toMatchObject({
      near: [
        {
          rule: "small",
          missed:
            "history (count of transfer within 1h by session), unclear; " +
            "history (sum of /amount of transfer within 90s by principal), unclear; " +
            "history (after approved approve, ok_* in the session), unclear",
        },
      ],
    });
  });

  test("is part of the policy's revision, and tells that the policy uses the history", () => {
    const policies = [2, 3].map((lessThan) => {
      return new RulePolicy({ rules: [rule("allow", [{ ...LESS_THAN, lessThan }])] });
    });
    expect(policies[0]?.revision).not.toBe(policies[1]?.revision);
    const without = new RulePolicy({ rules: [] });
    expect([policies[0]?.usesHistory, without.usesHistory]).toEqual([true, false]);
    expect(strictest(without, policies[0] as RulePolicy)).toMatchObject({ usesHistory: true });
  });

  test("is refused with the reason if it is malformed", () => {
    const flaws = (history: unknown): string => {
      try {
        decide([{ effect: "deny", tools: ["*"], history: history as readonly HistoryCondition[] }]);
      } catch (error) {
        return (error as Error).message.replaceAll("rule 1: ", "");
      }
      return "";
    };
    const window = { in: "turn" } as const;
    expect(flaws([])).toBe("/history must not be empty");
    expect(flaws([{}])).toBe("/history/0 must have exactly one of 'count', 'sum', 'after'");
    expect(flaws([{ count: ["a"], after: ["b"], ...window, lessThan: 1 }])).toContain(
      "must have exactly one of",
    );
    expect(flaws([{ count: [], lessThan: 1, ...window }])).toBe("/history/0/count must not be empty");
    expect(flaws([{ count: ["a b"], lessThan: 1, ...window }])).toContain("must be a tool name");
    expect(flaws([{ count: ["a"], ...window }])).toBe(
      "/history/0 must have exactly one of 'lessThan', 'atLeast'",
    );
    expect(flaws([{ count: ["a"], lessThan: 0, ...window }])).toContain("/history/0/lessThan must be");
    expect(flaws([{ count: ["a"], lessThan: 1, atMost: 1, ...window }])).toBe(
      "/history/0/atMost a condition with 'count' cannot have this",
    );
    expect(flaws([{ count: ["a"], lessThan: 1 }])).toBe("/history/0 must have exactly one of 'within', 'in'");
    expect(flaws([{ count: ["a"], lessThan: 1, within: "1 week" }])).toBe(
      "/history/0/within must be a duration such as 250ms, 5s or 2m, or a number of milliseconds",
    );
    expect(flaws([{ count: ["a"], lessThan: 1, within: 0 }])).toContain("/history/0/within must be");
    expect(flaws([{ count: ["a"], lessThan: 1, ...window, by: "principal" }])).toBe(
      "/history/0/by calls in the turn are those of the session: use 'within', or leave out 'by'",
    );
    expect(flaws([{ sum: "/a", atMost: 1, ...window }])).toBe("/history/0 'of' is missing");
    expect(flaws([{ sum: "amount", of: ["a"], atMost: 1, ...window }])).toContain("must be a JSON pointer");
    expect(flaws([{ sum: `/${"a".repeat(100)}`, of: ["a"], atMost: 1, ...window }])).toContain("at most 100");
    expect(flaws([{ sum: "/items/*/price", of: ["a"], atMost: 1, ...window }])).toContain(
      "'*' is not supported",
    );
    expect(flaws([{ sum: "/a", of: ["a"], atMost: -1, ...window }])).toContain("/history/0/atMost must be");
    expect(flaws([{ sum: "/a", of: ["a"], atMost: 1e-13, ...window }])).toBe(
      "/history/0/atMost must have at most 12 decimals",
    );
    expect(flaws([{ after: ["a"], approved: false, ...window }])).toBe("/history/0/approved must be true");
    expect(flaws([{ counts: ["a"], lessThan: 1, ...window }])).toContain("did you mean 'count'");
  });
});
