import { describe, expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../../../src/json/value.ts";
import type { CallHistory, ValueProvenance } from "../../../../src/policy/call-history.ts";
// Inside: tells `unclear` from `no` for each history; the tests of policies below use the face.
import { compileCondition } from "../../../../src/policy/rule/conditions/condition.ts";
import type { RuleCondition, RuleMatch } from "../../../../src/policy/rule/rule.ts";
import { RuleMatcher } from "../../../../src/policy/rule/rule-matcher.ts";
import { RulePolicy } from "../../../../src/policy/rule/rule-policy.ts";
import { strictest } from "../../../../src/policy/strictest.ts";

/** Knows that the user said `ann` and 5, and that `list` had `bob`. What begins with a question mark is unclear. */
const provenance: ValueProvenance = {
  isFrom: (source, value) => answer(value, source === "user" ? ["ann", 5] : ["bob"]),
  isReferenceFrom: (source, value) =>
    answer(value, source === "user" ? ["ann@x.example"] : ["bob@x.example"]),
  holdsValueOf: (_field, text) => answer(text, ["secret"]),
};

function answer(value: string | number, known: readonly (string | number)[]): boolean | undefined {
  return String(value).startsWith("?") ? undefined : known.includes(value);
}

function match(
  condition: RuleCondition,
  value: JsonValue,
  history: CallHistory | undefined = { provenance },
) {
  return compileCondition("/v", condition)({ input: { v: value }, sessionId: "s", history });
}

const list = { tool: "list", field: "/name" };

describe("from", () => {
  test.each([
    ["ann", "yes"],
    [5, "yes"],
    ["bob", "yes"],
    ["eve", "no"],
    ["?", "unclear"],
    [["ann", "bob"], "yes"],
    [["ann", "eve"], "no"],
    [["ann", ["eve"]], "no"],
    [["ann", "?"], "unclear"],
    [[], "yes"],
    [null, "no"],
    [true, "no"],
    [{ name: "ann" }, "no"],
  ])("%j: %s", (value, expected) => expect(match({ from: ["user", list] }, value)).toBe(expected));

  test("does not match what came from another source", () => {
    expect(match({ from: ["user"] }, "bob")).toBe("no");
    expect(match({ from: [list] }, "ann")).toBe("no");
  });

  test("is unclear without a history, and a missing value has come from nowhere", () => {
    expect(match({ from: ["user"] }, "ann", {})).toBe("unclear");
    expect(
      compileCondition("/w", { from: ["user"] })({ input: {}, sessionId: "s", history: { provenance } }),
    ).toBe("no");
  });
});

describe("links", () => {
  test.each([
    ["Hello there", "yes"],
    ["Mail ann@x.example or bob@x.example.", "yes"],
    ["Mail eve@x.example.", "no"],
    [["Hello", { "eve@x.example": 1 }], "no"],
    [{ a: { b: ["see www.evil.example"] } }, "no"],
    [12_345_678, "no"],
    [5, "yes"],
    [null, "yes"],
    ["x".repeat(70_000), "unclear"],
  ])("%j: %s", (value, expected) => expect(match({ links: { from: ["user", list] } }, value)).toBe(expected));

  test("is unclear without a history only if there are any", () => {
    expect(match({ links: { from: ["user"] } }, "Hello", {})).toBe("yes");
    expect(match({ links: { from: ["user"] } }, "ann@x.example", {})).toBe("unclear");
  });
});

describe("without", () => {
  test.each([
    ["hello", "yes"],
    ["secret", "no"],
    [["hello", { text: "secret" }], "no"],
    [{ secret: 1 }, "no"],
    ["?", "unclear"],
    [5, "yes"],
    ["x".repeat(70_000), "unclear"],
  ])("%j: %s", (value, expected) => expect(match({ without: [list] }, value)).toBe(expected));

  test("is unclear without a history", () => expect(match({ without: [list] }, "hello", {})).toBe("unclear"));
});

describe("asked and absent", () => {
  const matching = (rule: RuleMatch, input: JsonObject, userText?: string) =>
    new RuleMatcher({ tools: ["t"], ...rule }, Date.now).match({
      input,
      sessionId: "s",
      history: { userText },
    });

  test.each([
    ["Please DELETE it", "yes"],
    ["please\ndelete it", "yes"],
    ["undeleted", "no"],
    ["", "no"],
    [undefined, "unclear"],
    [`delete ${"x".repeat(70_000)}`, "unclear"],
  ])("the user's words %j: %s", (text, expected) =>
    expect(matching({ asked: "\\bdelete\\b" }, {}, text)).toBe(expected));

  test.each([
    [{}, "yes"],
    [{ cc: null }, "yes"],
    [{ cc: [] }, "yes"],
    [{ cc: "", more: {} }, "yes"],
    [{ cc: ["eve"] }, "no"],
    [{ cc: false }, "no"],
    [{ cc: 0 }, "no"],
    [{ more: { bcc: ["eve"] } }, "no"],
    [{ more: "bcc" }, "unclear"],
  ])("an absent argument of %j: %s", (input, expected) =>
    expect(matching({ absent: ["/cc", "/more/bcc"] }, input)).toBe(expected));
});

const use = { effect: "allow", sandboxes: ["host"] } as const;
const source = { tool: "mail", field: "/*/sender" };

describe("A policy", () => {
  test("says what must be remembered for it", () => {
    const found = { lookup: "search", field: "/id" };
    const policy = new RulePolicy({
      rules: [
        {
          tools: ["a"],
          ...use,
          when: { "/x": { from: ["user", list] }, any: [{ "/y": { links: { from: [list] } } }] },
        },
        {
          tools: ["b"],
          ...use,
          when: { all: [{ "/x": { any: [{ not: { from: [found] } }, { without: [source] }] } }] },
        },
      ],
    });
    expect(policy.trackedFields).toEqual({ sources: [list, found], contents: [source] });
    expect(policy.usesHistory).toBe(true);
    expect(strictest(policy, new RulePolicy({ rules: [] })).trackedFields).toEqual(policy.trackedFields);
    expect(new RulePolicy({ rules: [{ tools: ["a"], ...use, asked: "x" }] })).toMatchObject({
      usesHistory: true,
      trackedFields: undefined,
    });
    expect(new RulePolicy({ rules: [] }).usesHistory).toBe(false);
  });

  test.each([
    [{ tool: "mail" }, "the results of 'mail' cannot be a source: 'untrusted' says that outsiders write it"],
    [{ tool: "mail", fields: ["/sender"] }, "'/sender' in the results of 'mail' cannot be a source"],
    [{ tool: "mail", fields: ["/sender/name"] }, "cannot be a source"],
    [{ tool: "mail", fields: ["/0"] }, "cannot be a source"],
  ])("refuses a source that outsiders write: %j", (untrusted, message) => {
    const rules = [{ tools: ["a"], ...use, when: { "/x": { any: [{ from: ["user" as const, source] }] } } }];
    expect(() => new RulePolicy({ rules, untrusted: [untrusted] })).toThrow(message);
    expect(() => new RulePolicy({ rules, untrusted: [untrusted] })).toThrow(
      "rule 1: /when/~1x/any/0/from/1/field",
    );
  });

  test("accepts other fields of the same results as sources, and untrusted ones for 'without'", () => {
    const rules = [
      { tools: ["a"], ...use, when: { "/x": { all: [{ from: [list] }, { without: [source] }] } } },
    ];
    const untrusted = [{ tool: "list", fields: ["/title"] }, { tool: "mail" }];
    expect(() => new RulePolicy({ rules, untrusted })).not.toThrow();
  });

  test.each([
    [{ asked: "(" }, "/asked not a valid regular expression"],
    [{ asked: "(?=a)" }, "/asked"],
    [{ absent: ["cc"] }, "must be a JSON pointer to an argument"],
    [{ absent: ["/more/*"] }, "without '*'"],
    [{ when: { "/x": { from: [] } } }, "/when/~1x/from"],
    [
      { when: { "/x": { from: ["model"] } } },
      "must be 'user', or a map with 'tool' or 'lookup', and 'field'",
    ],
    [{ when: { "/x": { from: [{ tool: "list" }] } } }, "field"],
    [{ when: { "/x": { from: [{ tool: "list", field: "name" }] } } }, "must be a JSON pointer to a field"],
    [{ when: { "/x": { from: [{ tool: "a", lookup: "b", field: "/c" }] } } }, "tool"],
    [{ when: { "/x": { links: {} } } }, "from"],
    [{ when: { "/x": { without: ["user"] } } }, "without"],
  ])("refuses %j", (part, message) => {
    expect(() => new RulePolicy({ rules: [{ tools: ["a"], ...use, ...(part as object) }] })).toThrow(message);
  });
});
