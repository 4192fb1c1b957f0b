import { describe, expect, test } from "vitest";
import { compileShape } from "../../src/config/shape.ts";
import { ConfigSource } from "../../src/config/source.ts";
import type { JsonValue } from "../../src/json/value.ts";

const shape = compileShape({
  type: "object",
  additionalProperties: false,
  required: ["tools"],
  properties: {
    tools: { type: "array", items: { type: "string", minLength: 1 }, minItems: 1 },
    effect: { enum: ["allow", "deny"] },
    memory: {
      message: "must be bytes, such as 64MiB",
      anyOf: [{ type: "integer" }, { type: "string", pattern: "^[0-9]+MiB$" }],
    },
    when: {
      type: "object",
      propertyNames: { type: "string", pattern: "^/", message: "must begin with '/'" },
    },
  },
  if: { required: ["effect"], properties: { effect: { const: "deny" } } },
  // biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON schema.
  then: { properties: { memory: { not: {}, message: "is not for a denial" } } },
});

function check(text: string): string[] {
  return ConfigSource.parse(text, "a.yaml")
    .check(shape)
    .map(({ line, column, message }) => `${line}:${column}: ${message}`);
}

describe("a shape reports", () => {
  test("nothing for a value that matches", () => {
    expect(check("tools: [a]\neffect: allow\nmemory: 5MiB\nwhen: {/x: 1}\n")).toEqual([]);
  });

  test("an unknown key, and suggests a name if that is obvious", () => {
    expect(check("tools: [a]\nefect: allow\nzzz: 1\n")).toEqual([
      "2:1: unknown key 'efect': did you mean 'effect'?",
      "3:1: unknown key 'zzz': expected one of tools, effect, memory, when",
    ]);
  });

  test("a missing key, at the map that lacks it", () => {
    expect(check("effect: allow\n")).toEqual(["1:1: 'tools' is missing"]);
  });

  test("a wrong type, an empty list, an empty string", () => {
    expect(check("tools: a\n")).toEqual(["1:8: must be a list, not a string"]);
    expect(check("tools: []\n")).toEqual(["1:8: must not be empty"]);
    expect(check("tools: ['']\n")).toEqual(["1:9: must not be empty"]);
    expect(check("[]")).toEqual(["1:1: must be a map (keys: tools, effect, memory, when), not a list"]);
  });

  test("a value that is not one of those allowed", () => {
    expect(check("tools: [a]\neffect: alow\n")).toEqual([
      "2:9: must be one of allow, deny: did you mean 'allow'?",
    ]);
  });

  test("one flaw if no alternative matches, with the schema's own message", () => {
    expect(check("tools: [a]\nmemory: 5 apples\n")).toEqual(["2:9: must be bytes, such as 64MiB"]);
  });

  test("an invalid key and a disallowed key, at the key", () => {
    expect(check("tools: [a]\nwhen: { x: 1 }\n")).toEqual(["2:9: must begin with '/'"]);
    expect(check("tools: [a]\neffect: deny\nmemory: 5MiB\n")).toEqual(["3:1: is not for a denial"]);
  });

  test("all flaws at once, also for a part of a file", () => {
    expect(check("tools: []\neffect: 5\nx: 1\n")).toHaveLength(3);
    const source = ConfigSource.parse("policy:\n  tools: 5\n", "a.yaml");
    expect(source.check(shape, ["policy"])).toMatchObject([{ line: 2, column: 10 }]);
    expect(source.check(shape, ["polcy"])).toMatchObject([
      { line: 1, column: 1, message: "'polcy' is missing" },
    ]);
  });
});

test.each([
  { type: "strin" },
  { type: "object", properties: [] },
  { type: "object", required: "tools" },
  { type: "string", pattern: "(" },
  { type: "integer", minimum: "1" },
  { enum: "allow" },
  { anyOf: {} },
  { type: "string", patern: "a" },
])("compileShape refuses the schema %j", (schema) => {
  expect(() => compileShape(schema)).toThrow();
});

test("a shape reports equal items and too many items of a list, once, whatever their types are", () => {
  const modes = compileShape({ type: "array", maxItems: 5, uniqueItems: true, items: { enum: ["a", "b"] } });
  const messages = (value: JsonValue): string[] => modes(value).map(({ message }) => message);
  expect(messages(["a", "b"])).toEqual([]);
  expect(messages(["b", "a", "b"])).toEqual(["the items 0 and 2 (counted from 0) are equal"]);
  expect(messages([{ x: 1, y: 2 }, "a", { y: 2, x: 1 }])).toContain(
    "the items 0 and 2 (counted from 0) are equal",
  );
  expect(messages(["a", "b", 1, 2, 3, 4])).toContain("must have at most 5 items");
});
