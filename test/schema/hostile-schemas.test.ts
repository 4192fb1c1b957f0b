import { describe, expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../src/json/value.ts";
import { MAX_KEYWORDS, MAX_SCHEMA_DEPTH } from "../../src/schema/bounds.ts";
import { compileSchema } from "../../src/schema/compiled-schema.ts";
import { SchemaError, type SchemaProblem } from "../../src/schema/schema-error.ts";

function problems(schema: JsonObject): readonly SchemaProblem[] {
  try {
    compileSchema(schema);
    return [];
  } catch (error) {
    expect(error).toBeInstanceOf(SchemaError);
    return (error as SchemaError).problems;
  }
}

const properties = (count: number): JsonObject =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`p${i}`, { type: "string" }]));

describe("compileSchema refuses, with path and reason, a schema", () => {
  test.each<[string, JsonObject, string, RegExp]>([
    ["with an unknown type", { properties: { a: { type: "float" } } }, "/properties/a/type", /'float'/],
    [
      "with a property that is not a schema",
      { properties: { "a/b": 5 } },
      "/properties/a~1b",
      /must be a schema/,
    ],
    [
      "with required as in draft 3",
      { properties: { a: { required: true } } },
      "/properties/a/required",
      /list/,
    ],
    ["with exclusiveMinimum as in draft 4", { exclusiveMinimum: true }, "/exclusiveMinimum", /a number/],
    ["with items as in draft 7", { items: [{}] }, "/items", /prefixItems/],
    ["with a negative length", { minLength: -1 }, "/minLength", /non-negative integer/],
    ["with an empty choice", { anyOf: [] }, "/anyOf", /list of schemas/],
    ["with $async", { items: { $async: true } }, "/items", /\$async/],
    [
      "with a dangling reference",
      { items: { $ref: "#/$defs/a" } },
      "/items/$ref",
      /does not refer to a known schema/,
    ],
    ["with a reference to a file", { $ref: "file:///etc/passwd" }, "/$ref", /never fetched/],
    ["with a reference to itself", { anyOf: [{ $ref: "#" }] }, "/anyOf/0/$ref", /endlessly/],
    ["with a long $id", { $id: `http://x/${"a".repeat(1_000)}` }, "/$id", /longer than 512/],
    [
      "with a long anchor",
      { $defs: { a: { $anchor: "a".repeat(1_000) } } },
      "/$defs/a/$anchor",
      /longer than/,
    ],
    [
      "with more dynamic anchors than scopes can hold",
      {
        $defs: Object.fromEntries(
          Array.from({ length: 65 }, (_, i) => [`d${i}`, { $dynamicAnchor: `a${i}` }]),
        ),
      },
      "/$defs/d64",
      /more than 64 dynamic anchors/,
    ],
    ["with look-ahead", { pattern: "^(?!a)" }, "/pattern", /look-around/],
    ["with look-behind", { pattern: "(?<=a)b" }, "/pattern", /look-around/],
    ["with a back-reference", { pattern: "(a)\\1" }, "/pattern", /back-reference/],
    [
      "with a broken pattern",
      { patternProperties: { "(": {} } },
      "/patternProperties/(",
      /not a valid regular expression/,
    ],
    ["with a pattern that expands", { pattern: "((a{1,100}){1,100}){1,100}" }, "/pattern", /expanded/],
    [
      "with more patterns than can be compiled in time",
      {
        patternProperties: Object.fromEntries(
          Array.from({ length: 200 }, (_, i) => [`^(\\p{L}+|${i})+$`, true]),
        ),
      },
      expect.stringMatching(/^\/patternProperties\//),
      /too many to compile/,
    ],
    ["with a long pattern", { pattern: "a".repeat(2_000) }, "/pattern", /longer than/],
  ])("%s", (_case, schema, path, reason) => {
    expect(problems(schema)).toEqual([{ path, reason: expect.stringMatching(reason) }]);
  });

  test("and reports every problem at once", () => {
    const found = problems({ type: "strnig", properties: { a: 1, b: { pattern: "(" } } });
    expect(found.map(({ path }) => path)).toEqual(["/type", "/properties/a", "/properties/b/pattern"]);
  });

  test("that is too large, too deep, or doubles at each reference", () => {
    expect(problems({ properties: properties(MAX_KEYWORDS) })[0]?.reason).toMatch(/more than 5000 keywords/);
    let deep: JsonObject = {};
    for (let i = 0; i <= MAX_SCHEMA_DEPTH; i++) deep = { items: deep };
    expect(problems(deep)[0]?.reason).toMatch(/nested deeper than 64 levels/);
    const link = (i: number): JsonObject => ({
      allOf: [{ $ref: `#/$defs/a${i}` }, { $ref: `#/$defs/a${i}` }],
    });
    const $defs = Object.fromEntries(
      Array.from({ length: 31 }, (_, i) => [`a${i}`, i < 30 ? link(i + 1) : {}]),
    );
    expect(problems({ $ref: "#/$defs/a0", $defs })[0]?.reason).toMatch(
      /more than 10000 keywords apply to one value/,
    );
  });
});

describe("compileSchema accepts a schema", () => {
  test("with any number of annotations and unused definitions", () => {
    const $defs = properties(5_000);
    const schema = { type: "object", description: "x", $defs, "x-vendor": { type: "unknown" } };
    expect(compileSchema(schema).validate(1)).toEqual(["must be object"]);
  });

  test("with thousands of enum values", () => {
    const values = Array.from({ length: 20_000 }, (_, i) => `v${i}`);
    const { validate } = bind(compileSchema({ enum: values }));
    expect([validate("v19999"), validate("w")]).toEqual([
      undefined,
      ["must be equal to one of the allowed values"],
    ]);
  });
});

describe("validating takes a bounded amount of work", () => {
  const TOO_MUCH = ["too expensive to validate: send less at once"];

  test("if a pattern would backtrack catastrophically", () => {
    const { validate } = bind(compileSchema({ pattern: "^(a+)+$" }));
    expect(validate(`${"a".repeat(50_000)}!`)).toEqual(['must match pattern "^(a+)+$"']);
    expect(validate("a".repeat(50_000))).toBeUndefined();
    expect(validate("a".repeat(4_000_000))).toEqual(TOO_MUCH);
  });

  test("if a schema doubles its work at each level of the value", () => {
    const inner = { properties: { a: { $ref: "#" } }, required: ["b"] };
    let value: JsonValue = {};
    for (let i = 0; i < 200; i++) value = { a: value };
    const schema = { type: "object", anyOf: [inner, inner], properties: { a: { $ref: "#" } } };
    expect(compileSchema(schema).validate(value)).toEqual(TOO_MUCH);
  });

  test("if many items meet many keywords", () => {
    const schema = { items: { anyOf: Array.from({ length: 100 }, (_, i) => ({ const: i })) } };
    expect(compileSchema(schema).validate(new Array(50_000).fill(99))).toEqual(TOO_MUCH);
  });

  const numbers = Array.from({ length: 50_000 }, (_, i) => i);
  const members = (count: number, value: JsonValue): JsonObject =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`m${i}`, value]));

  describe.each([
    ["a schema that is compiled", 0],
    ["one that is interpreted", 600],
  ])("in %s, if references repeat", (_which, more) => {
    test.each<[string, JsonObject, JsonValue]>([
      ["uniqueItems of numbers", { uniqueItems: true }, numbers],
      ["a long const", { const: numbers }, [...numbers]],
      ["a schema of items", { items: { type: "integer" } }, numbers],
      ["a choice of items", { items: { enum: [1, 2] } }, numbers.map(() => 1)],
      ["a search among items", { contains: { type: "string" } }, [...numbers, "a"]],
      ["a schema of members", { additionalProperties: { type: "integer" } }, members(15_000, 1)],
      ["a schema of names", { propertyNames: { type: "string" } }, members(15_000, 1)],
      ["a number of members", { minProperties: 1 }, members(15_000, 1)],
      ["a length", { minLength: 1 }, "x".repeat(2_000_000)],
      ["a content", { format: "byte" }, "QUJD".repeat(400_000)],
    ])("%s", (_what, leaf, value) => {
      const definitions: Record<string, JsonObject> = { d9: leaf };
      for (let i = 0; i < 9; i++) {
        const next = { $ref: `#/$defs/d${i + 1}` };
        definitions[`d${i}`] = { allOf: [next, next] };
      }
      const schema = { $defs: definitions, $ref: "#/$defs/d0", properties: properties(more) };
      expect(compileSchema(schema).validate(value)).toEqual(TOO_MUCH);
    });
  });

  test("if thousands of properties meet thousands of items", () => {
    const schema = { items: { properties: members(4_900, true) } };
    const items = Array.from({ length: 15_000 }, () => ({ m1: 1 }));
    expect(compileSchema(schema).validate(items)).toBeUndefined();
    expect(compileSchema(schema).validate(Array.from({ length: 90_000 }, () => ({})))).toEqual(TOO_MUCH);
  });

  test("if errors are inside a member with a long name", () => {
    const name = "~".repeat(1_000_000);
    const schema = { additionalProperties: { anyOf: new Array<JsonValue>(240).fill({ type: "string" }) } };
    expect(compileSchema(schema).validate({ [name]: 1 })).toEqual(TOO_MUCH);
    const large = { additionalProperties: { anyOf: new Array<JsonValue>(600).fill({ type: "string" }) } };
    expect(compileSchema(large).validate({ [name]: 1 })?.[0]).toMatch(/^\/~0~0.* must be string$/);
  });

  test.each<[string, JsonObject, JsonValue]>([
    ["items from a list", { items: { type: "string", enum: ["a", "b"] } }, new Array(99_000).fill("a")],
    ["items with a pattern", { items: { pattern: "^[a-z]+$" } }, new Array(99_000).fill("ab")],
    ["different numbers", { uniqueItems: true, items: { type: "integer" } }, numbers],
    ["different strings", { uniqueItems: true, items: { type: "string" } }, numbers.map(String)],
    [
      "members with a schema and names with a pattern",
      { minProperties: 1, propertyNames: { pattern: "^m" }, additionalProperties: { type: "object" } },
      members(19_000, {}),
    ],
    ["a long text", { maxLength: 2_000_000 }, "x".repeat(2_000_000)],
  ])("and accepts large values of simple schemas: %s", (_what, schema, value) => {
    expect(compileSchema(schema).validate(value)).toBeUndefined();
  });

  test("for each value separately", () => {
    const { validate } = bind(compileSchema({ pattern: "^(a+)+$" }));
    for (let i = 0; i < 50; i++) expect(validate("a".repeat(50_000))).toBeUndefined();
  });

  test("and accepts data of the maximum depth", () => {
    let value: JsonValue = {};
    for (let i = 0; i < 255; i++) value = { a: value };
    const tree = { type: "object", properties: { a: { $ref: "#" } }, additionalProperties: false };
    expect(compileSchema(tree).validate(value)).toBeUndefined();
  });
});

function bind(schema: ReturnType<typeof compileSchema>): Pick<typeof schema, "validate"> {
  return { validate: (value) => schema.validate(value) };
}
