import { describe, expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../src/json/value.ts";
import type { ArgumentRules } from "../../src/schema/arguments.ts";
import { type Accepted, compileSchema } from "../../src/schema/compiled-schema.ts";

function accept(schema: JsonObject, value: JsonValue, rules: ArgumentRules = {}): Accepted {
  return compileSchema(schema).accept(value, { nullForOptional: "absent", coerce: false, ...rules });
}

const SCHEMA = {
  type: "object",
  properties: {
    path: { type: "string" },
    depth: { type: "integer" },
    note: { type: ["string", "null"] },
    anything: {},
    tags: { type: "array", items: { $ref: "#/$defs/tag" } },
    mode: { enum: ["r", "w"] },
    kind: { anyOf: [{ const: "a" }, { type: "integer" }] },
  },
  required: ["path"],
  $defs: { tag: { allOf: [{ properties: { name: { type: "string" } } }] } },
};

describe("null in an optional argument", () => {
  test("is removed", () => {
    expect(accept(SCHEMA, { path: "a", depth: null, mode: null, kind: null })).toEqual({
      value: { path: "a" },
    });
  });

  test("is removed at every depth, through references, allOf and items", () => {
    expect(accept(SCHEMA, { path: "a", tags: [{ name: null }, { name: "x" }] })).toEqual({
      value: { path: "a", tags: [{}, { name: "x" }] },
    });
  });

  test("stays if the schema accepts it or does not restrict it", () => {
    const value = { path: "a", note: null, anything: null, unknown: null };
    expect(accept(SCHEMA, value)).toEqual({ value });
  });

  test("is an error if the argument is required", () => {
    expect(accept(SCHEMA, { path: null })).toEqual({
      problems: [{ path: "/path", message: "must be string" }],
    });
    const required = { allOf: [{ required: ["a"] }], properties: { a: { type: "string" } } };
    expect(accept(required, { a: null })).toEqual({ problems: [{ path: "/a", message: "must be string" }] });
  });

  test("is an error as a list item, and in a branch that may not apply", () => {
    expect(accept({ items: { type: "string" } }, [null])).toEqual({
      problems: [{ path: "/0", message: "must be string" }],
    });
    const branches = {
      anyOf: [{ type: "object", properties: { a: { type: "string" } } }, { type: "string" }],
    };
    expect(accept(branches, { a: null })).toHaveProperty("problems");
  });

  test('is an error everywhere with "reject"', () => {
    expect(accept(SCHEMA, { path: "a", depth: null }, { nullForOptional: "reject" })).toEqual({
      problems: [{ path: "/depth", message: "must be integer" }],
    });
  });

  test("does not hide other errors", () => {
    expect(accept(SCHEMA, { path: "a", depth: null, mode: "x" })).toEqual({
      problems: [{ path: "/mode", message: 'must be equal to one of the allowed values: ["r","w"]' }],
    });
  });

  test("leaves the original value alone and returns a frozen one", () => {
    const given = Object.freeze({ path: "a", depth: null });
    const accepted = accept(SCHEMA, given) as { value: JsonValue };
    expect(given).toEqual({ path: "a", depth: null });
    expect(Object.isFrozen(accepted.value)).toBe(true);
  });

  test("is removed in draft 7, too, also in tuples", () => {
    const $schema = "http://json-schema.org/draft-07/schema#";
    const schema = { $schema, items: [{ properties: { a: { type: "string" } } }] };
    expect(accept(schema, [{ a: null }])).toEqual({ value: [{}] });
  });
});

describe("a value of the wrong type", () => {
  const schema = {
    properties: {
      text: { type: "string" },
      count: { type: "integer" },
      share: { type: "number" },
      flag: { type: "boolean" },
      either: { type: ["string", "integer"] },
      list: { items: { type: "number" } },
    },
  };

  test("is not coerced by default", () => {
    expect(accept(schema, { count: "5" })).toEqual({
      problems: [{ path: "/count", message: "must be integer" }],
    });
  });

  test("is coerced with coerce: true if its JSON text stays the same", () => {
    const given = { text: 5, count: "5", share: "-1.5e3", flag: "true", either: "5", list: ["1"] };
    expect(accept(schema, given, { coerce: true })).toEqual({
      value: { text: "5", count: 5, share: -1500, flag: true, either: "5", list: [1] },
    });
  });

  test.each([
    ["count", "5.5"],
    ["count", "9007199254740993"],
    ["count", " 5"],
    ["count", "0x10"],
    ["count", ""],
    ["share", "1e999"],
    ["share", "NaN"],
    ["flag", "yes"],
    ["flag", 1],
    ["text", null],
    ["count", [5]],
  ])("is not coerced if its JSON text would change: %s %j", (name, value) => {
    expect(accept(schema, { [name]: value }, { coerce: true, nullForOptional: "reject" })).toHaveProperty(
      "problems",
    );
  });
});
