import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { equalJson, type JsonValue } from "../../../../src/json/value.ts";
// Inside: tells `unclear` from `yes` and `no`; a decision shows it only together with an effect.
import type { Match } from "../../../../src/policy/rule/conditions/comparison.ts";
import { compileCondition as compileForCall } from "../../../../src/policy/rule/conditions/condition.ts";
import type { RuleCondition } from "../../../../src/policy/rule/rule.ts";

function compileCondition(key: string, condition: RuleCondition): (input: JsonValue) => Match {
  const test = compileForCall(key, condition);
  return (input) => test({ input, sessionId: "s" });
}

function match(condition: RuleCondition, value: JsonValue): Match {
  return compileCondition("/a", condition)({ a: value });
}

describe("a condition", () => {
  test("a condition finds its argument by JSON pointer, with escapes, in lists and at the root", () => {
    const input = { "a/b": { "~": [10, { "": 20 }] } };
    expect(compileCondition("/a~1b/~0/0", { equals: 10 })(input)).toBe("yes");
    expect(compileCondition("/a~1b/~0/1/", { equals: 20 })(input)).toBe("yes");
    expect(compileCondition("", { equals: input })(input)).toBe("yes");
  });

  test("a condition does not match a missing argument", () => {
    for (const pointer of ["/b", "/b/c", "/list/2", "/list/-"]) {
      const expected = pointer === "/list/-" ? "unclear" : "no";
      expect(compileCondition(pointer, { glob: "**" })({ a: 1, list: ["x", "y"] })).toBe(expected);
    }
  });

  test("a condition ignores inherited members of an object", () => {
    for (const pointer of ["/constructor", "/__proto__", "/toString/name", "/list/length"]) {
      const answer = compileCondition(pointer, { prefix: "x" })({ list: [] });
      expect(answer).toBe(pointer === "/list/length" ? "unclear" : "no");
    }
  });

  test("a condition is unclear if its pointer leads through a value without members", () => {
    for (const value of ["text", 5, null, true, ["by name into a list"]]) {
      expect(compileCondition("/a/b", { equals: 1 })({ a: value })).toBe("unclear");
    }
  });

  test("equals and oneOf compare whole JSON values", () => {
    expect(match({ equals: { x: [1, null], y: "z" } }, { y: "z", x: [1, null] })).toBe("yes");
    expect(match({ equals: { x: 1 } }, { x: 1, y: 2 })).toBe("no");
    expect(match({ equals: [1, 2] }, [2, 1])).toBe("no");
    expect(match({ equals: "5" }, 5)).toBe("no");
    expect(match({ equals: {} }, [])).toBe("no");
    expect(match({ equals: null }, null)).toBe("yes");
    expect(match({ oneOf: ["a", { b: 1 }] }, { b: 1 })).toBe("yes");
    expect(match({ oneOf: ["a", "b"] }, "c")).toBe("no");
  });

  test("JSON values are equal if and only if their canonical texts are", () => {
    const canonical = (value: unknown): string =>
      JSON.stringify(value, (_key, member: unknown) =>
        typeof member === "object" && member !== null && !Array.isArray(member)
          ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
          : member,
      );
    const value = fc.jsonValue({ maxDepth: 2 }).filter((made) => !JSON.stringify(made).includes("__proto__"));
    fc.assert(
      fc.property(value, value, (a, b) => {
        const [one, other] = [JSON.parse(JSON.stringify(a)), JSON.parse(JSON.stringify(b))] as JsonValue[];
        expect(equalJson(one as JsonValue, other as JsonValue)).toBe(canonical(one) === canonical(other));
        expect(equalJson(one as JsonValue, JSON.parse(canonical(one)) as JsonValue)).toBe(true);
      }),
    );
  });

  test("range includes both bounds, and is unclear about values that are not numbers", () => {
    expect(match({ range: { min: 1, max: 3 } }, 1)).toBe("yes");
    expect(match({ range: { min: 1, max: 3 } }, 3)).toBe("yes");
    expect(match({ range: { min: 1 } }, 0.5)).toBe("no");
    expect(match({ range: { max: 3 } }, -1e300)).toBe("yes");
    expect(match({ range: { min: 1 } }, "2")).toBe("unclear");
  });

  test("glob matches if any of its globs matches, including dot files", () => {
    expect(match({ glob: "/data/**" }, "/data/.env")).toBe("yes");
    expect(match({ glob: ["/a/*", "/b/*"] }, "/b/c")).toBe("yes");
    expect(match({ glob: ["/a/*", "/b/*"] }, "/c/c")).toBe("no");
  });

  test("prefix matches strings that start with it", () => {
    expect(match({ prefix: "https://api.example.com/" }, "https://api.example.com/v1?q=1")).toBe("yes");
    expect(match({ prefix: "https://api.example.com/" }, "https://api.example.com.evil.org/")).toBe("no");
    expect(match({ prefix: "SELECT " }, "SELECT *\n\tFROM t")).toBe("yes");
  });

  test.each([
    ["a list", ["/data/a"]],
    ["a number", 5],
    ["null", null],
    ["an empty string", ""],
    ["a text of 4,097 characters", `/data/${"a".repeat(4_091)}`],
    ["NUL", "/data/a\0.txt"],
    ["a backslash", "/data\\..\\secret"],
    ["a parent segment", "/data/../secret"],
    ["a parent segment at the end", "/data/.."],
    ["a segment that is the folder itself", "/data/./a"],
    ["an empty segment", "/data//secret"],
    ["an empty segment in a URL", "https://example.com//secret"],
    ["a host that ends at a question mark", "https://evil.com?.example.com/x"],
    ["a host that ends at a hash", "https://evil.com#.example.com/x"],
    ["a host behind a user", "https://api.example.com@evil.com/x"],
    ["a parent segment with a parameter", "src/..;/x"],
    ["a parent segment with a blank", "src/.. /x"],
    ["a parent segment encoded twice", "src/%252e%252e/x"],
    ["a parent segment in percent-encoding", "https://example.com/a/%2E%2e/secret"],
    ["a slash in percent-encoding", "https://example.com/a/..%2fsecret"],
    ["a parent segment split by a character that URL parsers remove", "https://example.com/a/.\t./secret"],
    ["a parent segment before a query", "https://example.com/a/..?x"],
  ])("glob and prefix are unclear about %s", (_case, value) => {
    expect(match({ glob: "**" }, value)).toBe("unclear");
    expect(match({ prefix: "/" }, value)).toBe("unclear");
  });

  test.each([
    "/data/a..b/...",
    "https://example.com/a",
    "/data/.a/..b",
    "https://e.com/?u=https%3A%2F%2Fx",
    "/a/b/",
  ])("glob and prefix are clear about %s", (text) => {
    expect(match({ prefix: text.slice(0, 2) }, text)).toBe("yes");
  });
});

describe("a condition on the elements of a list", () => {
  const ofPaths = compileCondition("/paths/*", { glob: "/data/**" });

  test.each<[string, JsonValue, Match]>([
    ["matches if every element does", { paths: ["/data/a", "/data/b"] }, "yes"],
    ["does not match if no element does", { paths: ["/etc/a", "/etc/b"] }, "no"],
    ["is unclear if only some elements match", { paths: ["/data/a", "/etc/b"] }, "unclear"],
    ["is unclear if one element is unclear", { paths: ["/data/a", "/data/../b"] }, "unclear"],
    ["does not match an empty list", { paths: [] }, "no"],
    ["does not match a missing list", {}, "no"],
    ["is unclear for an object in place of the list", { paths: { "*": "/data/a" } }, "unclear"],
    ["is unclear for a text in place of the list", { paths: "/data/a" }, "unclear"],
  ])("%s", (_case, input, expected) => expect(ofPaths(input)).toBe(expected));

  test("a pointer can lead through several lists, and on from their elements", () => {
    const test = compileCondition("/jobs/*/files/*/name", { prefix: "a" });
    const job = (...names: string[]): JsonValue => ({ files: names.map((name) => ({ name })) });
    expect(test({ jobs: [job("a1", "a2"), job("a3")] })).toBe("yes");
    expect(test({ jobs: [job("a1"), job("b")] })).toBe("unclear");
    expect(test({ jobs: [job("b"), job("c")] })).toBe("no");
    expect(test({ jobs: [job("a1"), {}] })).toBe("unclear");
  });

  test("an escaped star is the member of that name", () => {
    expect(compileCondition("/\\*/a", { equals: 1 })({ "*": { a: 1 } })).toBe("yes");
  });
});

describe("not, all, any and regex", () => {
  test("not is the opposite, and stays unclear if the condition is", () => {
    expect(match({ not: { equals: 1 } }, 2)).toBe("yes");
    expect(match({ not: { equals: 1 } }, 1)).toBe("no");
    expect(match({ not: { prefix: "/a" } }, "/a/../b")).toBe("unclear");
  });

  test("it is unclear whether a missing argument meets a not", () => {
    expect(compileCondition("/a", { not: { equals: 1 } })({})).toBe("unclear");
    expect(compileCondition("/a", { not: { not: { equals: 1 } } })({})).toBe("unclear");
    expect(compileCondition("/a", { any: [{ equals: 2 }, { not: { equals: 1 } }] })({})).toBe("unclear");
  });

  test("all needs every condition, and any needs one", () => {
    const both = { all: [{ prefix: "/a" }, { not: { prefix: "/a/b" } }] };
    expect(match(both, "/a/c")).toBe("yes");
    expect(match(both, "/a/b")).toBe("no");
    const either = { any: [{ prefix: "/a" }, { equals: 5 }] };
    expect(match(either, "/a/b")).toBe("yes");
    expect(match(either, 5)).toBe("yes");
    expect(match(either, "/c")).toBe("no");
    expect(match(either, 6)).toBe("unclear");
  });

  test("a regex matches a part of a text, whether or not the text is a path", () => {
    expect(match({ regex: "^SELECT\\s" }, "SELECT 1 // ..")).toBe("yes");
    expect(match({ regex: "^SELECT\\s" }, "DROP TABLE x")).toBe("no");
    expect(match({ regex: "b" }, "")).toBe("no");
    expect(match({ regex: "b" }, 5)).toBe("unclear");
    expect(match({ regex: "b" }, "b".repeat(5_000))).toBe("unclear");
  });

  test("a regex takes linear time", () => {
    expect(match({ regex: "^(a+)+$" }, `${"a".repeat(4_000)}b`)).toBe("no");
  });
});

describe("a condition on the principal or the session", () => {
  const principal = { id: "ann", kind: "user" as const, attributes: { team: "ops", levels: [1, 2] } };
  const ask = (key: string, condition: RuleCondition, who?: typeof principal): Match =>
    compileForCall(key, condition)({ input: {}, sessionId: "s1", ...(who && { principal: who }) });

  test("a condition can depend on attributes of the principal", () => {
    expect(ask("principal/attributes/team", { equals: "ops" }, principal)).toBe("yes");
    expect(ask("principal/attributes/team", { equals: "dev" }, principal)).toBe("no");
    expect(ask("principal/attributes/levels/*", { range: { max: 2 } }, principal)).toBe("yes");
    expect(ask("principal/attributes/none", { equals: 1 }, principal)).toBe("no");
  });

  test("it is unclear whether a call without a principal meets it, whatever it is", () => {
    expect(ask("principal/kind", { equals: "user" })).toBe("unclear");
    expect(ask("principal/kind", { not: { equals: "user" } })).toBe("unclear");
  });

  test("a condition can depend on the id of the session", () => {
    expect(ask("session/id", { prefix: "s" })).toBe("yes");
    expect(ask("session/id", { equals: "other" })).toBe("no");
  });
});
