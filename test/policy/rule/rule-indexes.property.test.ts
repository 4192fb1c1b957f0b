import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonValue } from "../../../src/json/value.ts";
// Inside: compares the rules that indexes find with all rules; a policy decides alike without indexes.
import { spellerFor } from "../../../src/policy/match/spellings.ts";
import { compileRule } from "../../../src/policy/rule/combine-rules.ts";
import { ConditionIndex, PrefixMap } from "../../../src/policy/rule/condition-index.ts";
import type { PolicyRule, RuleConditions } from "../../../src/policy/rule/rule.ts";
import { RuleMatcher } from "../../../src/policy/rule/rule-matcher.ts";
import { RuleBook } from "../../../src/policy/rule/rule-policy.ts";

// Few values, which makes rules match often.
const value: fc.Arbitrary<JsonValue> = fc.constantFrom<JsonValue[]>(
  0,
  -0,
  1,
  "0",
  "",
  null,
  true,
  [0],
  { a: 0 },
  "a",
  "a/",
  "a/b",
  "a/b/c",
  "a/../b",
  "ab",
  "b/",
  "/",
  "https://a.b/c",
  "a\0",
  "/a/b",
  "./a",
  "A/b",
  "/a",
  ".",
  "/b/../a/b",
  "HTTPS://A.B.:443/c",
  "http://127.1/",
  "https://a.b/%63",
);
const glob = fc.constantFrom(
  "a",
  "a/",
  "a/**",
  "a/*",
  "a*",
  "**",
  "{a,b}/**",
  "[ab]",
  "a/b/?",
  "/**",
  "https://a.b/**",
  "https://A.b:443/**",
  "A/**",
  "/a/b",
  "{/a,b}/**",
);
const condition = fc.oneof(
  fc.record({ equals: value }),
  fc.record({ oneOf: fc.array(value, { minLength: 1, maxLength: 3 }) }),
  fc.record({ not: fc.record({ equals: value }) }),
  fc.record({ oneOf: fc.constant(["a", { argument: "/b/a" }]) }),
  fc.record({ prefix: fc.constantFrom({ argument: "/a" }, { principal: "/id" }) }),
  fc.record({ prefix: fc.constantFrom("a", "a/", "a/b", "/a", "./a", "A", "https://a", "https://A.b:443/") }),
  fc.record({ glob: fc.oneof(glob, fc.array(glob, { minLength: 1, maxLength: 3 })) }),
);
const conditions = fc.dictionary(
  fc.constantFrom("/a", "/b/a", "/b/*", "principal/id", "session/id"),
  condition,
  {
    maxKeys: 2,
  },
) as fc.Arbitrary<RuleConditions>;
const when = fc.oneof(
  conditions,
  fc.record({ all: fc.array(conditions, { minLength: 1, maxLength: 2 }) }),
  fc.record({ any: fc.array(conditions, { minLength: 1, maxLength: 2 }) }),
);
const principals = fc.option(
  fc.array(fc.constantFrom("a", "b*", "\\*", "0"), { minLength: 1, maxLength: 2 }),
);
const principal = fc.option(
  fc.record({ id: fc.constantFrom("a", "bc", "*", "0"), kind: fc.constant("user" as const) }),
);
const input: fc.Arbitrary<JsonValue> = fc.oneof(value, fc.dictionary(fc.constantFrom("a", "b"), value));

/** `/a` is a path, and `/b` a URL. */
const spell = spellerFor({ paths: [{ argument: "/a", access: "read" }], urls: [{ argument: "/b" }] }, [[]]);

describe("the index of conditions", () => {
  test("every rule that is not a candidate does not match, and candidates keep their order", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(when, principals), { maxLength: 60 }),
        input,
        principal,
        fc.constantFrom(undefined, "/a", "/"),
        (all, args, caller, workspace) => {
          const rules = all.map(([each, ids]) => ({
            matcher: new RuleMatcher({ tools: ["*"], when: each, ...(ids && { principals: ids }) }, Date.now),
          }));
          const asked = { input: args, sessionId: "s", ...(caller && { principal: caller }) };
          const call = { ...asked, spelled: spell?.({ ...asked, ...(workspace && { workspace }) }) };
          const candidates = new ConditionIndex(rules).candidates(call);
          expect(candidates).toEqual(rules.filter((rule) => candidates.includes(rule)));
          for (const rule of rules) {
            if (!candidates.includes(rule)) expect(rule.matcher.match(call)).toBe("no");
          }
        },
      ),
      { numRuns: 1_000 },
    );
  });

  test("most rules are no candidates if they require different values", () => {
    const rules = Array.from({ length: 1_000 }, (_, i) => ({
      matcher: new RuleMatcher({ tools: ["*"], when: { "/a": { equals: i } } }, Date.now),
    }));
    const index = new ConditionIndex(rules);
    expect(index.candidates({ input: { a: 7 }, sessionId: "s" })).toEqual([rules[7]]);
    expect(index.candidates({ input: { a: "7" }, sessionId: "s" })).toEqual([]);
    expect(index.candidates({ input: "text", sessionId: "s" })).toHaveLength(1_000);
  });
});

describe("the index of prefixes", () => {
  test("has most rules as no candidates if they are about different folders or principals", () => {
    const rules = Array.from({ length: 1_000 }, (_, i) => ({
      matcher: new RuleMatcher({ tools: ["*"], when: { "/a": { glob: `src/${i}/**` } } }, Date.now),
    }));
    const index = new ConditionIndex(rules);
    const found = (a: JsonValue): number => index.candidates({ input: { a }, sessionId: "s" }).length;
    expect(index.candidates({ input: { a: "src/77/x" }, sessionId: "s" })).toEqual([rules[7], rules[77]]);
    expect([found("lib/1"), found("src/../x"), found(1), found("src/7")]).toEqual([0, 1_000, 1_000, 1]);
    const ids = Array.from({ length: 100 }, (_, i) => ({
      matcher: new RuleMatcher({ tools: ["*"], principals: [`user-${i}`] }, Date.now),
    }));
    const calls = { input: {}, sessionId: "s" };
    const caller = { id: "user-5", kind: "user" } as const;
    expect(new ConditionIndex(ids).candidates({ ...calls, principal: caller })).toEqual([ids[5]]);
    expect(new ConditionIndex(ids).candidates(calls)).toEqual(ids);
  });

  test("finds the items of every prefix of a text, and no others", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", "\uffff", "😀"), maxLength: 5 });
    fc.assert(
      fc.property(fc.array(text), text, (all, searched) => {
        const found: string[] = [];
        new PrefixMap(all.map((prefix) => [prefix, prefix])).addTo(found, searched);
        expect(found.sort()).toEqual(all.filter((prefix) => searched.startsWith(prefix)).sort());
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("the book of rules", () => {
  const names = fc.array(fc.constantFrom("a", "b", "a*", "*", "\\*"), { minLength: 1, maxLength: 3 });
  const tags = fc.array(fc.constantFrom("x", "y", "z"), { minLength: 1, maxLength: 2 });
  const rule: fc.Arbitrary<PolicyRule> = fc.oneof(
    fc.record({ effect: fc.constant("deny" as const), tools: names }),
    fc.record({ effect: fc.constant("deny" as const), tags }),
    fc.record({ effect: fc.constant("deny" as const), tools: names, tags }),
  );
  const tool = fc.record({
    name: fc.constantFrom("a", "b", "ab", "*"),
    sideEffects: fc.constant("read" as const),
    tags: fc.subarray(["x", "y", "w"]),
  });

  test("finds every rule that concerns a tool, in the order of the policy", () => {
    fc.assert(
      fc.property(fc.array(rule, { maxLength: 20 }), tool, (rules, subject) => {
        const compiled = rules.map((each, i) => compileRule(each, `rule ${i}`, i, Date.now));
        const concerning = compiled.filter(({ matcher }) => matcher.concerns(subject));
        const found = new RuleBook(compiled).find(subject);
        expect(found.filter(({ matcher }) => matcher.concerns(subject))).toEqual(concerning);
        expect(found.every(({ matcher }) => matcher.names(subject))).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });
});
