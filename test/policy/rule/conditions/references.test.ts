import { describe, expect, test } from "vitest";
import { CanonicalJson } from "../../../../src/json/canonical.ts";
import { copyJson } from "../../../../src/json/copy.ts";
import type { JsonValue } from "../../../../src/json/value.ts";
import type { PolicyRequest, PolicySubject } from "../../../../src/policy/policy.ts";
import type { HistoryCondition, RuleConditions } from "../../../../src/policy/rule/rule.ts";
import { RulePolicy } from "../../../../src/policy/rule/rule-policy.ts";

const TOOL: PolicySubject = { name: "use", sideEffects: "write", sandboxes: ["host"], inputSchema: {} };
const COPY: PolicySubject = {
  ...TOOL,
  access: {
    paths: [
      { argument: "/from", access: "read" },
      { argument: "/to", access: "write" },
    ],
    urls: [],
  },
};

interface Given {
  readonly attributes?: { readonly [name: string]: JsonValue };
  readonly tool?: PolicySubject;
  readonly more?: Partial<PolicyRequest>;
}

function requestOf(input: JsonValue, { attributes, tool = TOOL, more = {} }: Given): PolicyRequest {
  const copy = copyJson(input);
  return {
    callId: "c",
    sessionId: "s",
    tool,
    input: copy,
    canonical: new CanonicalJson(copy),
    ...(attributes && { principal: { id: "ann", kind: "user", attributes } }),
    ...more,
  };
}

/** `yes` if an allow rule allows and a deny rule denies, `no` if neither does, and `unclear` if only the deny rule does. */
function matched(
  part: { readonly when?: RuleConditions; readonly history?: readonly HistoryCondition[] },
  input: JsonValue,
  given: Given = {},
): string {
  const request = requestOf(input, given);
  const always = { tools: ["*"], effect: "allow", sandboxes: ["host"] } as const;
  const allows = new RulePolicy({ rules: [{ ...always, ...part }] }).check(request).decision === "allow";
  const denies =
    new RulePolicy({ rules: [always, { tools: ["*"], effect: "deny", ...part }] }).check(request).decision ===
    "deny";
  return allows ? (denies ? "yes" : "allowed, and not denied") : denies ? "unclear" : "no";
}

const TENANT = { principal: "/attributes/tenant" } as const;
const OWNER = { argument: "/owner" } as const;

describe("a condition that refers to another value of the call", () => {
  test.each<[string, RuleConditions, JsonValue, Given["attributes"], string]>([
    ["equals", { "/a": { equals: TENANT } }, { a: "x" }, { tenant: "x" }, "yes"],
    ["equals", { "/a": { equals: TENANT } }, { a: "y" }, { tenant: "x" }, "no"],
    ["equals", { "/a": { equals: OWNER } }, { a: { b: [1] }, owner: { b: [1] } }, undefined, "yes"],
    ["equals, missing value", { "/a": { equals: TENANT } }, {}, { tenant: "x" }, "no"],
    ["equals, every element", { "/a/*": { equals: TENANT } }, { a: ["x", "x"] }, { tenant: "x" }, "yes"],
    ["equals, some elements", { "/a/*": { equals: TENANT } }, { a: ["x", "y"] }, { tenant: "x" }, "unclear"],
    ["not", { "/a": { not: { equals: TENANT } } }, { a: "y" }, { tenant: "x" }, "yes"],
    ["not", { "/a": { not: { equals: TENANT } } }, { a: "x" }, { tenant: "x" }, "no"],
    ["oneOf", { "/a": { oneOf: ["z", TENANT] } }, { a: "z" }, { tenant: "x" }, "yes"],
    ["oneOf", { "/a": { oneOf: ["z", TENANT] } }, { a: "x" }, { tenant: "x" }, "yes"],
    ["oneOf", { "/a": { oneOf: ["z", TENANT] } }, { a: "y" }, { tenant: "x" }, "no"],
    ["oneOf a list", { "/a": { oneOf: TENANT } }, { a: "y" }, { tenant: ["x", "y"] }, "yes"],
    ["oneOf a list", { "/a": { oneOf: TENANT } }, { a: "z" }, { tenant: ["x", "y"] }, "no"],
    ["prefix", { "/a": { prefix: TENANT } }, { a: "x/1" }, { tenant: "x/" }, "yes"],
    ["prefix", { "/a": { prefix: TENANT } }, { a: "y/1" }, { tenant: "x/" }, "no"],
    ["glob", { "/a": { glob: { segments: ["t", TENANT, "**"] } } }, { a: "t/x/1" }, { tenant: "x" }, "yes"],
    ["glob", { "/a": { glob: { segments: ["t", TENANT, "**"] } } }, { a: "t/y/1" }, { tenant: "x" }, "no"],
    [
      "glob, absolute",
      { "/a": { glob: { segments: ["/t", TENANT, "*.md"] } } },
      { a: "/t/x/1.md" },
      { tenant: "x" },
      "yes",
    ],
    [
      "glob, of several",
      { "/a": { glob: ["p/**", { segments: [TENANT] }] } },
      { a: "p/q" },
      { tenant: "x" },
      "yes",
    ],
    ["range", { "/a": { range: { max: TENANT } } }, { a: 5 }, { tenant: 5 }, "yes"],
    ["range", { "/a": { range: { max: TENANT } } }, { a: 6 }, { tenant: 5 }, "no"],
    ["range", { "/a": { range: { min: 1, max: OWNER } } }, { a: 0, owner: 5 }, undefined, "no"],
    [
      "a key of the principal",
      { "principal/attributes/tenant": { equals: OWNER } },
      { owner: "x" },
      { tenant: "x" },
      "yes",
    ],
  ])("compares with what it refers to: %s of %j", (_, when, input, attributes, expected) => {
    expect(matched({ when }, input, attributes && { attributes })).toBe(expected);
  });

  const CONDITIONS: RuleConditions[] = [
    { "/a": { equals: TENANT } },
    { "/a": { oneOf: ["x", TENANT] } },
    { "/a": { oneOf: TENANT } },
    { "/a": { prefix: TENANT } },
    { "/a": { glob: { segments: [TENANT] } } },
    { "/n": { range: { min: TENANT } } },
  ];
  test.each(CONDITIONS)("is unclear if that is unset, whatever the value is, also below not: %j", (when) => {
    const [[key, condition] = []] = Object.entries(when);
    for (const each of [when, { [key as "/a"]: { not: condition } }]) {
      for (const attributes of [undefined, {}, { tenant: null }]) {
        for (const input of [{ a: "x", n: 1 }, { a: "other", n: -1 }, {}]) {
          expect(matched({ when: each }, input, attributes && { attributes })).toBe("unclear");
        }
      }
    }
  });

  test.each<[RuleConditions, JsonValue]>([
    [{ "/a": { equals: TENANT } }, 5],
    [{ "/a": { oneOf: ["x", TENANT] } }, 5],
    [{ "/a": { oneOf: TENANT } }, "x"],
    [{ "/a": { prefix: TENANT } }, 5],
    [{ "/a": { prefix: TENANT } }, ""],
    [{ "/a": { glob: { segments: [TENANT] } } }, "x/y"],
    [{ "/a": { glob: { segments: [TENANT] } } }, "*"],
    [{ "/a": { glob: { segments: [TENANT] } } }, ".."],
    [{ "/n": { range: { min: TENANT } } }, "1"],
  ])("is unclear if that has another type: %j of %j", (when, tenant) => {
    expect(matched({ when }, { a: "x", n: 1 }, { attributes: { tenant } })).toBe("unclear");
  });

  test("is unclear if another spelling of a path disagrees, on either side", () => {
    const when: RuleConditions = { "/to": { equals: { argument: "/from" } } };
    const with_ = (from: string, to: string, paths: PolicyRequest["paths"] = undefined) =>
      matched({ when }, { from, to }, { tool: COPY, more: { workspace: "/w", paths } });
    expect(with_("a", "a")).toBe("yes");
    expect(with_("a", "b")).toBe("no");
    expect(with_("/w/a", "/w/a")).toBe("yes");
    expect(with_("/w/a", "a")).toBe("unclear");
    expect(with_("./a", "a")).toBe("unclear");
    expect(with_("link", "a", [{ argument: "/from", path: "a" }])).toBe("unclear");
    expect(with_("a", "link", [{ argument: "/to", path: "a" }])).toBe("unclear");
  });

  test("bounds counts and sums", () => {
    const history = { ledger: { tally: () => ({ count: 2, sum: 10n * 10n ** 12n, isComplete: true }) } };
    const limit = { principal: "/attributes/limit" } as const;
    const conditions: [HistoryCondition, number, number][] = [
      [{ count: ["*"], in: "session", lessThan: limit }, 3, 2],
      [{ count: ["*"], in: "session", atLeast: limit }, 2, 3],
      [{ sum: "/n", of: ["*"], in: "session", atMost: limit }, 15, 14.5],
      [{ sum: "/n", of: ["*"], in: "session", moreThan: limit }, 14.5, 15],
    ];
    for (const [condition, yes, no] of conditions) {
      const given = (value?: JsonValue) =>
        matched(
          { history: [condition] },
          { n: 5 },
          { attributes: value === undefined ? {} : { limit: value }, more: { history } },
        );
      expect([given(yes), given(no), given(), given("3")]).toEqual(["yes", "no", "unclear", "unclear"]);
    }
  });

  test("is named in an explanation", () => {
    const policy = new RulePolicy({
      rules: [{ tools: ["*"], when: { "/a": { equals: TENANT } }, effect: "allow", sandboxes: ["host"] }],
    });
    const { rules } = policy.explain(requestOf({ a: "x" }, {}));
    expect(rules[0]?.why).toBe("unclear: /a (equals principal/attributes/tenant)");
  });

  test.each<[RuleConditions, string]>([
    [{ "/a": { equals: { argument: "owner" } } }, "must be a JSON pointer, such as '/owner'"],
    [{ "/a": { equals: { principal: "" } } }, "must be a JSON pointer, such as '/attributes/tenant'"],
    [{ "/a": { oneOf: [{ argument: "/list/*" }] } } as RuleConditions, "without '*'"],
    [
      { "/a": { prefix: { argument: "/b", principal: "/id" } } } as unknown as RuleConditions,
      "either 'argument' or 'principal'",
    ],
    [{ "/a": { glob: { segments: ["a", "b"] } } }, "none of these is a reference"],
    [{ "/a": { glob: { segments: ["a/", TENANT] } } }, "without a '/' at either end"],
    [{ "/a": { glob: { segments: ["[", TENANT] } } }, "must be closed"],
  ])("is invalid if it has another form: %j", (when, message) => {
    const rule = { tools: ["*"], when, effect: "deny" } as const;
    expect(() => new RulePolicy({ rules: [rule] })).toThrow(message);
  });
});
