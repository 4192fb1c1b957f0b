import { describe, expect, test, vi } from "vitest";
import { diffPolicies } from "../../../src/journal/diff/diff-policies.ts";
import { openJournal } from "../../../src/journal/journal.ts";
import { replayJournal } from "../../../src/journal/read/replay-journal.ts";
import type { PolicyRule, TimeWindow } from "../../../src/policy/rule/rule.ts";
import { RulePolicy } from "../../../src/policy/rule/rule-policy.ts";
import { TemporaryDirectory } from "../../journal/records.ts";
import { call, testSessions, tool } from "../../sessions/harness.ts";

const RULE: PolicyRule = { tools: ["*"], effect: "allow", sandboxes: ["host"] };

/** A policy whose clock says something else, as a decision is made at the time of its request. */
function decides(during: TimeWindow, at: string): string {
  const policy = new RulePolicy({ rules: [{ ...RULE, during }] }, () => Number.NaN);
  return policy.check({
    callId: "c",
    sessionId: "s",
    input: {},
    canonical: { text: "{}", digest: "" } as never,
    tool: { name: "t", sideEffects: "read", sandboxes: ["host"], inputSchema: {} },
    time: { now: Date.parse(at) },
  }).decision;
}

describe("a rule with 'during' matches", () => {
  const office: TimeWindow = {
    days: ["mon", "tue", "wed", "thu", "fri"],
    hours: ["09:00-12:00", "13:00-17:30"],
    zone: "Europe/Zurich",
  };
  test.each<[TimeWindow, string, string]>([
    [office, "2026-07-06T07:00:00Z", "allow"],
    [office, "2026-07-06T06:59:59.999Z", "deny"],
    [office, "2026-07-06T10:00:00Z", "deny"],
    [office, "2026-07-06T15:29:59Z", "allow"],
    [office, "2026-07-06T15:30:00Z", "deny"],
    // An hour later by the clock of the world, in winter.
    [office, "2026-12-07T07:30:00Z", "deny"],
    [office, "2026-12-07T08:00:00Z", "allow"],
    [office, "2026-07-05T08:00:00Z", "deny"],
    [{ days: ["sun"], zone: "Pacific/Auckland" }, "2026-07-04T13:00:00Z", "allow"],
    [{ days: ["sun"], zone: "UTC" }, "2026-07-04T13:00:00Z", "deny"],
    [{ hours: ["22:00-06:00"], zone: "UTC" }, "2026-07-04T23:00:00Z", "allow"],
    [{ hours: ["22:00-06:00"], zone: "UTC" }, "2026-07-04T05:59:59Z", "allow"],
    [{ hours: ["22:00-06:00"], zone: "UTC" }, "2026-07-04T06:00:00Z", "deny"],
    [{ hours: ["00:00-24:00"], zone: "UTC" }, "2026-07-04T00:00:00Z", "allow"],
    [{ hours: ["09:00-10:00"], zone: "Asia/Kathmandu" }, "2026-07-04T03:15:00Z", "allow"],
  ])("%j at %s: %s", (during, at, expected) => {
    expect(decides(during, at)).toBe(expected);
  });

  test.each<[object, string]>([
    [{ hours: ["09:00-09:00"], zone: "UTC" }, "these hours are empty"],
    [{ hours: ["9-17"], zone: "UTC" }, "must be hours such as"],
    [{ days: ["mon"], zone: "Europe/Zürich" }, "there is no time zone 'Europe/Zürich'"],
    [{ days: ["mon"] }, "'zone'"],
    [{ zone: "UTC" }, "must have 'zone', and 'days' or 'hours'"],
    [{ days: ["monday"], zone: "UTC" }, "mon"],
  ])("and is invalid with %j", (during, message) => {
    expect(() => new RulePolicy({ rules: [{ ...RULE, during } as PolicyRule] })).toThrow(message);
  });

  test("and its tool is listed even while it does not", () => {
    const policy = new RulePolicy({ rules: [{ ...RULE, during: { days: ["sun"], zone: "UTC" } }] }, () =>
      Date.parse("2026-07-06"),
    );
    const subject = { name: "t", sideEffects: "read", sandboxes: ["host"], inputSchema: {} } as const;
    expect(policy.mayAllow(subject, undefined)).toBe(true);
  });
});

test("a decision is made again and compared at its time, not at that of its record", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.parse("2026-07-06T11:59:59.999Z") });
  using directory = new TemporaryDirectory();
  const morning: TimeWindow = { hours: ["09:00-12:00"], zone: "UTC" };
  const rules: PolicyRule[] = [{ ...RULE, during: morning, name: "morning" }];
  const policy = new RulePolicy({ rules });
  try {
    await using journal = await openJournal({ directory: directory.path });
    const { sessions } = await testSessions([tool("send", "read")], {
      policy,
      journal,
      hooks: { onToolStart: () => void vi.setSystemTime(Date.parse("2026-07-06T12:00:01Z")) },
    });
    const session = await sessions.open();
    await journal.keep(policy, session.registry.subjects);
    expect((await session.turn({}).dispatch(call("a", "send", {})))?.success).toBe(true);
    expect((await session.turn({}).dispatch(call("b", "send", {})))?.success).toBe(false);
    await sessions.close();
  } finally {
    vi.useRealTimers();
  }
  const { same, different } = await replayJournal(directory.path);
  expect({ same, different }).toEqual({ same: 2, different: [] });
  const later = new RulePolicy({ rules: [{ ...RULE, during: { hours: ["12:00-13:00"], zone: "UTC" } }] });
  const { changes } = await diffPolicies({ before: policy, after: later, directories: [directory.path] });
  expect(changes.map(({ change, count }) => [change, count])).toEqual([
    ["deny → allow", 1],
    ["allow → deny", 1],
  ]);
});
