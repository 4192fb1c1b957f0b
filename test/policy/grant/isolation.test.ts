import { describe, expect, test } from "vitest";
import { compareDecisions } from "../../../src/policy/compare-decisions.ts";
import { checkGrant, isWithinGrant } from "../../../src/policy/grant/execution-grant.ts";
import { allow, type PolicyRequest } from "../../../src/policy/policy.ts";
import type { AllowRule } from "../../../src/policy/rule/rule.ts";
import { RulePolicy } from "../../../src/policy/rule/rule-policy.ts";
import { strictest } from "../../../src/policy/strictest.ts";

const ANY = { sandbox: "process" } as const;
const NAMESPACES = { sandbox: "process", isolation: "namespaces" } as const;

const anyRule: AllowRule = { tools: ["*"], effect: "allow", sandboxes: ["process", "wasm"] };
const strictRule: AllowRule = {
  tools: ["run"],
  effect: "allow",
  sandboxes: ["process"],
  isolation: "namespaces",
};

const request = {
  tool: { name: "run", tags: [], sideEffects: "none", sandboxes: ["process", "wasm"] },
  input: {},
  callId: "1",
  sessionId: "s",
} as unknown as PolicyRequest;

describe("a required isolation", () => {
  test("is a member of grants of programs only", () => {
    expect(checkGrant(NAMESPACES).isolation).toBe("namespaces");
    expect("isolation" in checkGrant(ANY)).toBe(false);
    expect(() => checkGrant({ sandbox: "wasm", isolation: "namespaces" })).toThrow(
      /only in the sandbox 'process'/,
    );
    expect(() => checkGrant({ ...ANY, isolation: "landlock" as "namespaces" })).toThrow(/'namespaces' only/);
    expect(() => allow(NAMESPACES, { sandboxes: ["process", "wasm"] })).toThrow(
      /cannot accept another sandbox/,
    );
  });

  test("holds if one of the rules that match requires it, in any order", () => {
    for (const rules of [
      [anyRule, strictRule],
      [strictRule, anyRule],
    ])
      expect(new RulePolicy({ rules }).check(request)).toMatchObject({ grant: NAMESPACES });
    expect(new RulePolicy({ rules: [anyRule] }).check(request)).not.toHaveProperty("grant.isolation");
  });

  test("holds if one of the strictest policies requires it", async () => {
    const [any, strict] = [new RulePolicy({ rules: [anyRule] }), new RulePolicy({ rules: [strictRule] })];
    for (const policy of [strictest(any, strict), strictest(strict, any)])
      expect(await policy.check(request)).toMatchObject({ decision: "allow", grant: NAMESPACES });
  });

  test.each(["wasm", "host"] as const)("is refused in a rule that accepts %s as well", (mode) => {
    const sandboxes = ["process", mode] as const;
    expect(() => new RulePolicy({ rules: [{ ...strictRule, sandboxes }] })).toThrow(/must be 'process' only/);
    expect(() => new RulePolicy({ rules: [], default: { sandboxes, isolation: "namespaces" } })).toThrow(
      /must be 'process' only/,
    );
  });

  test("makes a grant narrower, and its absence wider", () => {
    const [any, strict] = [allow(ANY), allow(NAMESPACES)];
    expect(isWithinGrant(strict.grant, any.grant)).toBe(true);
    expect(isWithinGrant(any.grant, strict.grant)).toBe(false);
    expect(compareDecisions(any, strict)).toEqual(["narrower grant"]);
    expect(compareDecisions(strict, any)).toEqual(["wider grant"]);
  });
});
