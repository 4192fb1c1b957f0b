import { describe, expect, test } from "vitest";
import type { RuleConditions } from "../../../../src/policy/rule/rule.ts";
import { RulePolicy } from "../../../../src/policy/rule/rule-policy.ts";
// Inside: reads the words for one condition after the other, without a call that is denied for each.
import { missedInWords } from "../../../../src/server/console/calls/call-view.ts";

function policyWith(...whens: readonly RuleConditions[]): RulePolicy {
  return new RulePolicy({
    rules: whens.map((when, at) => ({
      name: `r${at}`,
      tools: ["*"],
      effect: "allow",
      when,
      sandboxes: ["host"],
    })),
  });
}

describe("What a call missed of a rule, in words", () => {
  test.each([
    [{ glob: "*@team.example" }, "ann@example.com", '"ann@example.com"; the rule allows "*@team.example"'],
    [{ glob: ["a/*", "b/*"] }, "c", '"c"; the rule allows "a/*" or "b/*"'],
    [{ equals: 1 }, "1", '"1"; the rule allows 1'],
    [{ oneOf: ["a", "b"] }, null, 'null; the rule allows "a" or "b"'],
    [{ prefix: "/srv/" }, "/etc", '"/etc"; the rule allows what starts with "/srv/"'],
    [{ regex: "^a+$" }, "b", '"b"; the rule allows what matches "^a+$"'],
    [{ range: { min: 1, max: 10 } }, 11, "11; the rule allows 1 to 10"],
    [{ range: { max: 10 } }, 11, "11; the rule allows at most 10"],
    [{ not: { equals: "x" } }, "x", '"x"; the rule allows anything but "x"'],
  ] as const)("names the value and what %j allows", (condition, value, words) => {
    const said = missedInWords(`/to (${Object.keys(condition)[0]})`, "r0", policyWith({ "/to": condition }), {
      to: value,
    });
    expect(said).toBe(`/to is ${words}`);
  });

  test("says that a value is missing, that the match is unclear, and what each item may be", () => {
    const policy = policyWith({ "/to": { glob: "a" }, "/all/*": { glob: "a" } });
    expect(missedInWords("/to (glob)", "r0", policy, {})).toBe('/to is missing; the rule allows "a"');
    expect(missedInWords("/to (glob), unclear", "r0", policy, { to: 1 })).toContain("unclear");
    expect(missedInWords("/all/* (glob)", "r0", policy, { all: ["b"] })).toBe(
      'the rule allows "a" as each /all/*',
    );
  });

  test("cuts long values, and leaves other texts as they are", () => {
    const policy = policyWith({ "/to": { glob: "a" } }, { "/to": { glob: "b" } });
    expect(missedInWords("/to (glob)", "r0", policy, { to: "x".repeat(100_000) }).length).toBeLessThan(300);
    for (const missed of [
      "roles",
      "until 2020-01-01",
      "/to (from)",
      "any",
      "/other (glob)",
      "",
      "/~ (glob)",
    ]) {
      expect(missedInWords(missed, "r0", policy, { to: "x" })).toBe(missed);
    }
    const both = policyWith({ "/to": { glob: "a*" }, all: [{ "/to": { glob: "*b" } }] });
    expect(missedInWords("/to (glob)", "r0", both, { to: "x" })).toBe("/to (glob)");
    expect(missedInWords("/to (glob)", "unknown", policy, { to: "x" })).toBe("/to (glob)");
  });
});
