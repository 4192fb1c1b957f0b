import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CanonicalJson } from "../../../src/json/canonical.ts";
import type { JsonValue } from "../../../src/json/value.ts";
import { LIMIT_NAMES } from "../../../src/policy/grant/limits.ts";
import type { PolicyDecision, PolicySubject } from "../../../src/policy/policy.ts";
import type { AllowedUse, PolicyRule, RuleCondition } from "../../../src/policy/rule/rule.ts";
import { RulePolicy } from "../../../src/policy/rule/rule-policy.ts";
import { SANDBOX_MODES } from "../../../src/tool/sandbox-mode.ts";
import { SIDE_EFFECTS } from "../../../src/tool/side-effects.ts";

// Few names, paths and values, which makes rules match often.
const subject: fc.Arbitrary<PolicySubject> = fc.record({
  name: fc.constantFrom("read_file", "write_file", "fetch"),
  sideEffects: fc.constantFrom(...SIDE_EFFECTS),
  sandboxes: fc.subarray([...SANDBOX_MODES], { minLength: 1 }),
  inputSchema: fc.constant({}),
});
const text = fc.constantFrom("/data/a", "/data/.b/c", "/secret", "/data/../secret", "", "x\0", "/data/");
const argument: fc.Arbitrary<JsonValue> = fc.oneof(
  text,
  fc.integer({ min: 0, max: 4 }),
  fc.constant(null),
  fc.constant(["/data/a"]),
);
const input: fc.Arbitrary<JsonValue> = fc.oneof(
  { weight: 9, arbitrary: fc.record({ a: argument, b: argument }, { requiredKeys: [] }) },
  { weight: 1, arbitrary: argument },
);
const simple: fc.Arbitrary<RuleCondition> = fc.oneof(
  fc.record({ equals: argument }),
  fc.record({ oneOf: fc.array(argument, { minLength: 1, maxLength: 3 }) }),
  fc.record({ glob: fc.constantFrom("/data/**", "**", "/*", "/{secret,data/*}") }),
  fc.record({ prefix: fc.constantFrom("/", "/data/", "x") }),
  fc.record({
    range: fc.record({ min: fc.integer({ min: 0, max: 2 }), max: fc.integer({ min: 2, max: 4 }) }),
  }),
);
const condition: fc.Arbitrary<RuleCondition> = fc.oneof(
  { weight: 4, arbitrary: simple },
  fc.record({ regex: fc.constantFrom("^/data", "a$", "secret") }),
  fc.record({ not: simple }),
  fc.record({ all: fc.array(simple, { minLength: 1, maxLength: 2 }) }),
  fc.record({ any: fc.array(simple, { minLength: 1, maxLength: 2 }) }),
);
const match = {
  tools: fc.array(fc.constantFrom("*", "read_*", "*_file", "fetch"), { minLength: 1, maxLength: 2 }),
  sideEffects: fc.subarray([...SIDE_EFFECTS], { minLength: 1 }),
  when: fc.dictionary(fc.constantFrom("/a", "/b", "/a/0", "/a/*", "", "principal/id"), condition, {
    maxKeys: 2,
  }),
};
const limit = fc.integer({ min: 1, max: 5 });
const use = {
  sandboxes: fc.shuffledSubarray([...SANDBOX_MODES], { minLength: 1 }),
  limits: fc.record({ wallTimeMs: limit, memoryBytes: limit, outputBytes: limit }, { requiredKeys: [] }),
  capabilities: fc.record(
    { env: fc.subarray(["A", "B", "C"]), clock: fc.boolean(), random: fc.boolean() },
    { requiredKeys: [] },
  ),
};
const rule: fc.Arbitrary<PolicyRule> = fc.oneof(
  fc.record(
    { effect: fc.constant("allow" as const), ...match, ...use },
    { requiredKeys: ["effect", "tools", "sandboxes"] },
  ),
  fc.record(
    { effect: fc.constantFrom("deny" as const, "ask" as const), ...match },
    { requiredKeys: ["effect", "tools"] },
  ),
  fc.record(
    { effect: fc.constant("ask" as const), ...match, ...use },
    { requiredKeys: ["effect", "tools", "sandboxes"] },
  ),
);
const rules = fc.array(rule, { maxLength: 5 });
const byDefault: fc.Arbitrary<"deny" | AllowedUse> = fc.oneof(
  fc.constant("deny" as const),
  fc.record(use, { requiredKeys: ["sandboxes"] }),
);

function decide(
  all: readonly PolicyRule[],
  tool: PolicySubject,
  args: JsonValue,
  otherwise: "deny" | AllowedUse = "deny",
): PolicyDecision {
  return new RulePolicy({ rules: all, default: otherwise }).check({
    callId: "c",
    sessionId: "s",
    input: args,
    canonical: new CanonicalJson(args),
    tool,
  });
}

/** Whether `before` permits everything that `after` permits, and without a person only what it permitted without one. */
function isNoWider(after: PolicyDecision, before: PolicyDecision): boolean {
  if (after.decision === "deny" || after.grant === undefined) return true;
  if (before.decision === "deny" || before.grant === undefined) return false;
  if (after.decision === "allow" && before.decision === "ask") return false;
  const [now, then] = [after.grant, before.grant];
  const limitsHold = LIMIT_NAMES.every(
    (name) => (now.limits[name] ?? Infinity) <= (then.limits[name] ?? Infinity),
  );
  const envHolds = (now.capabilities.env ?? []).every((name) => then.capabilities.env?.includes(name));
  const flagsHold = (["clock", "random"] as const).every(
    (flag) => !now.capabilities[flag] || then.capabilities[flag],
  );
  return limitsHold && envHolds && flagsHold;
}

describe("any rules and any call", () => {
  test("adding a rule anywhere never loosens the decision on a call that already matched a rule", () => {
    fc.assert(
      fc.property(rules, rule, fc.nat(5), subject, input, (all, more, place, tool, args) => {
        const before = decide(all, tool, args);
        const after = decide(all.toSpliced(place, 0, more), tool, args);
        const hadNoMatch = before.decision === "deny" && before.reason === "no rule allows this call";
        // Where nothing granted anything, another rule can grant what a person must confirm.
        const hadNoGrant = before.decision === "ask" && before.grant === undefined;
        if (!hadNoMatch && !hadNoGrant) expect(isNoWider(after, before)).toBe(true);
        if (before.decision === "deny" && !hadNoMatch) expect(after.decision).toBe("deny");
        if (before.decision === "ask") expect(after.decision).not.toBe("allow");
      }),
      { numRuns: 1_000 },
    );
  });

  test("adding a rule that denies or asks never loosens any decision", () => {
    fc.assert(
      fc.property(rules, rule, byDefault, subject, input, (all, more, otherwise, tool, args) => {
        fc.pre(more.effect !== "allow");
        const before = decide(all, tool, args, otherwise);
        const after = decide([...all, more], tool, args, otherwise);
        // A rule that asks can grant what a person must confirm, but runs nothing by itself.
        if (after.decision === "allow") expect(isNoWider(after, before)).toBe(true);
        if (more.effect === "deny") expect(isNoWider(after, before)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  test("a grant has a sandbox in which the tool can run and that a rule or the default lists", () => {
    fc.assert(
      fc.property(rules, byDefault, subject, input, (all, otherwise, tool, args) => {
        const decision = decide(all, tool, args, otherwise);
        if (decision.decision === "deny" || decision.grant === undefined) return;
        const { sandbox } = decision.grant;
        expect(decision.sandboxes?.[0] ?? sandbox).toBe(sandbox);
        const lists = all.flatMap((each) => (each.effect === "deny" ? [] : (each.sandboxes ?? [])));
        expect(tool.sandboxes).toContain(sandbox);
        expect([...lists, ...(otherwise === "deny" ? [] : otherwise.sandboxes)]).toContain(sandbox);
      }),
    );
  });

  test("equal policies and calls give equal decisions, regardless of earlier decisions", () => {
    fc.assert(
      fc.property(
        rules,
        byDefault,
        subject,
        fc.array(input, { minLength: 1, maxLength: 6 }),
        (all, otherwise, tool, calls) => {
          const policy = new RulePolicy({ rules: all, default: otherwise });
          for (const args of [...calls, ...calls]) {
            const decision = policy.check({
              callId: "c",
              sessionId: "s",
              input: args,
              canonical: new CanonicalJson(args),
              tool,
            });
            expect(decision).toEqual(
              decide(
                structuredClone(all) as PolicyRule[],
                structuredClone(tool),
                structuredClone(args) as JsonValue,
                otherwise,
              ),
            );
          }
        },
      ),
    );
  });

  test("an explanation has the decision, and names rules that say what it claims", () => {
    fc.assert(
      fc.property(rules, byDefault, subject, input, (all, otherwise, tool, args) => {
        const policy = new RulePolicy({ rules: all, default: otherwise });
        const call = { callId: "c", sessionId: "s", input: args, canonical: new CanonicalJson(args), tool };
        const explained = policy.explain(call);
        const { decision } = explained;
        expect(decision).toEqual(policy.check(call));
        const matched = new Map(explained.rules.map((each) => [each.name, each.matched]));
        for (const name of decision.rules ?? [])
          if (name !== "default") expect(matched.get(name)).not.toBe("no");
        const grant = decision.decision === "deny" ? undefined : decision.grant;
        expect(Object.keys(explained.limits)).toEqual(LIMIT_NAMES.filter((name) => grant?.limits[name]));
        for (const [limit, name] of Object.entries(explained.limits)) {
          const origin = name === "default" ? otherwise : all[Number(name.slice("rule ".length)) - 1];
          expect(origin).toHaveProperty(["limits", limit], grant?.limits[limit as "wallTimeMs"]);
        }
        expect(Object.keys(explained.capabilities).sort()).toEqual(
          Object.keys(grant?.capabilities ?? {}).sort(),
        );
      }),
      { numRuns: 1_000 },
    );
  });
});
