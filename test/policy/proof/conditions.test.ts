import { describe, expect, test } from "vitest";
import type { PolicySubject } from "../../../src/policy/policy.ts";
import type { Invariant, Proof } from "../../../src/policy/proof/invariant.ts";
import { proveInvariants } from "../../../src/policy/proof/prove.ts";
import type { PolicyRule, RuleConditions } from "../../../src/policy/rule/rule.ts";

const REFUND: PolicySubject = {
  name: "refund",
  sideEffects: "write",
  sandboxes: ["host"],
  inputSchema: {
    type: "object",
    properties: {
      amount: { type: "number" },
      path: { type: "string" },
      tenant: { type: "string" },
      currency: { enum: ["EUR", "CHF"] },
      note: { type: "string" },
    },
    required: ["amount", "currency"],
    additionalProperties: false,
  },
};

const allow = (when: RuleConditions, more: Partial<PolicyRule> = {}): PolicyRule =>
  ({ tools: ["refund"], effect: "allow", sandboxes: ["host"], when, ...more }) as PolicyRule;
const deny = (when: RuleConditions): PolicyRule => ({ tools: ["refund"], effect: "deny", when });
const ask = (when: RuleConditions): PolicyRule => ({ tools: ["refund"], effect: "ask", when });
const never = (when: RuleConditions): Invariant => ({ never: { tools: ["refund"], when } });
const TENANT = { principal: "/attributes/tenant" } as const;

function verdictOf(invariant: Invariant, ...rules: PolicyRule[]): Proof["verdict"] {
  return proveInvariants({ rules }, [invariant], [REFUND])[0]?.verdict as Proof["verdict"];
}

describe("conditions of an invariant and of rules are compared", () => {
  const large: Invariant = {
    always: { tools: ["refund"], when: { "/amount": { range: { min: 50 } } }, effect: "ask" },
  };
  test.each<[string, Invariant, PolicyRule[], Proof["verdict"]]>([
    ["numbers", large, [allow({}), ask({ "/amount": { range: { min: 50 } } })], "proved"],
    ["numbers", large, [allow({}), ask({ "/amount": { not: { range: { max: 50 } } } })], "broken"],
    ["numbers", large, [allow({ "/amount": { range: { max: 49.99 } } })], "proved"],
    ["numbers", large, [allow({ "/amount": { range: { max: 50 } } })], "broken"],
    ["an enum", never({}), [allow({}), deny({ "/currency": { oneOf: ["EUR", "CHF"] } })], "proved"],
    ["an enum", never({}), [allow({}), deny({ "/currency": { oneOf: ["EUR"] } })], "broken"],
    ["globs", never({ "/path": { glob: "private/**" } }), [allow({ "/path": { glob: "src/**" } })], "proved"],
    ["globs", never({ "/path": { glob: "**/*.key" } }), [allow({ "/path": { glob: "src/**" } })], "broken"],
    ["patterns", never({ "/path": { prefix: "a" } }), [allow({ "/path": { regex: "^[b-z]+$" } })], "proved"],
    ["patterns", never({ "/path": { prefix: "a" } }), [allow({ "/path": { regex: "[b-z]+$" } })], "broken"],
    ["presence", never({ "/note": { not: { equals: "" } } }), [allow({}, { absent: ["/note"] })], "proved"],
    ["presence", never({ "/note": { regex: "^$" } }), [allow({})], "broken"],
    [
      "references",
      never({ "/tenant": { not: { equals: TENANT } } }),
      [allow({ "/tenant": { equals: TENANT } })],
      "proved",
    ],
    ["references", never({ "/tenant": { not: { equals: TENANT } } }), [allow({})], "broken"],
    [
      "references",
      never({ "/tenant": { equals: "a" }, "principal/attributes/tenant": { equals: "b" } }),
      [allow({ "/tenant": { equals: TENANT } })],
      "proved",
    ],
    [
      "sources",
      never({ "/path": { not: { from: ["user"] } } }),
      [allow({ "/path": { from: ["user"] } })],
      "proved",
    ],
    ["sources", never({ "/path": { not: { from: ["user"] } } }), [allow({})], "broken"],
    ["roles", never({}), [allow({}, { roles: ["a"] }), { ...deny({}), roles: ["a", "b"] }], "proved"],
    ["roles", never({}), [allow({}, { roles: ["a"] }), { ...deny({}), roles: ["b"] }], "broken"],
    [
      "times",
      never({}),
      [allow({}, { until: "2030-01-01" }), { ...deny({}), until: "2031-01-01" }],
      "proved",
    ],
    [
      "times",
      never({}),
      [allow({}, { until: "2031-01-01" }), { ...deny({}), until: "2030-01-01" }],
      "broken",
    ],
  ])("%s: %j by %j", (_, invariant, rules, expected) => {
    expect(verdictOf(invariant, ...rules)).toBe(expected);
  });

  test("and what cannot be compared is said to be undecided", () => {
    const [proof] = proveInvariants(
      { rules: [allow({ "/path": { regex: "^\\p{Lu}$" } })] },
      [never({ "/path": { regex: "^\\p{Ll}$" } })],
      [REFUND],
    );
    expect(proof).toMatchObject({ verdict: "undecided", failures: [{ rules: ["rule 1"] }] });
  });

  test("and conditions of an invariant are checked like those of rules", () => {
    const options = { rules: [allow({})] };
    expect(() => proveInvariants(options, [never({ "/path": { regex: "(" } })], [REFUND])).toThrow(
      "/invariants/0/never/when/~1path/regex".replace("~1", "/"),
    );
  });
});
