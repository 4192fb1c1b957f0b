import { describe, expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../src/json/value.ts";
import { compileSchema } from "../../src/schema/compiled-schema.ts";

const errors = (schema: JsonObject, value: JsonValue): readonly string[] | undefined =>
  compileSchema(schema).validate(value);

describe("a small schema that ajv would compile wrongly", () => {
  test.each<[string, JsonObject, JsonValue, JsonValue]>([
    ["requires the empty name", { required: [""] }, {}, { "": 1 }],
    ["requires the empty name for another", { dependentRequired: { a: [""] } }, { a: 1 }, { a: 1, "": 1 }],
    [
      "looks for contains in an empty array beside a list",
      { prefixItems: [{ type: "string" }], contains: { type: "string" } },
      [],
      ["a"],
    ],
    [
      "takes names of Object.prototype for unevaluated members",
      { patternProperties: { "^m": {} }, unevaluatedProperties: false },
      { constructor: 1 },
      { m: 1 },
    ],
    [
      "takes what contains found for evaluated items",
      { contains: { const: 1 }, unevaluatedItems: { const: 2 } },
      [1, 3],
      [1, 2],
    ],
  ])("%s", (_what, schema, wrong, right) => {
    const compiled = compileSchema(schema);
    expect(compiled.validate(wrong)).toHaveLength(1);
    expect(compiled.validate(right)).toBeUndefined();
  });
});

describe("a schema", () => {
  test("is of draft 2020-12 by default, and of draft 7 if $schema names it", () => {
    expect(errors({ type: "array", prefixItems: [{ type: "string" }] }, [1])).toEqual(["/0 must be string"]);
    const $schema = "http://json-schema.org/draft-07/schema#";
    expect(errors({ $schema, type: "array", items: [{ type: "string" }] }, [1])).toEqual([
      "/0 must be string",
    ]);
  });

  test("considers own properties only", () => {
    expect(errors({ type: "object", required: ["constructor", "toString"] }, {})).toHaveLength(2);
  });

  test("reports additional properties by name, and the allowed values of an enum", () => {
    const schema = { properties: { mode: { enum: ["r", "w"] } }, additionalProperties: false };
    expect(errors(schema, { mode: "x", pth: 1 })).toEqual([
      "must NOT have additional properties: 'pth'",
      '/mode must be equal to one of the allowed values: ["r","w"]',
    ]);
  });

  test("is independent of others with the same $id", () => {
    const first = compileSchema({ $id: "urn:example:tool", type: "string" });
    const second = compileSchema({ $id: "urn:example:tool", type: "number" });
    expect([first.validate("a"), second.validate("a"), second.validate(1)]).toEqual([
      undefined,
      ["must be number"],
      undefined,
    ]);
  });

  test("neither coerces values nor fills in defaults", () => {
    const schema = { properties: { n: { type: "integer", default: 1 } }, required: ["n"] };
    expect(errors(schema, { n: "1" })).toEqual(["/n must be integer"]);
    expect(errors(schema, {})).toEqual(["must have required property 'n'"]);
  });

  test("can refer to itself by pointer, anchor or $id", () => {
    const tree = { type: "object", properties: { name: { type: "string" }, left: { $ref: "#" } } };
    expect(errors(tree, { left: { left: { name: 1 } } })).toEqual(["/left/left/name must be string"]);
    const named = {
      $id: "https://example.org/tree",
      $ref: "tree#node",
      $defs: { a: { $anchor: "node", type: "string" } },
    };
    expect(errors(named, 1)).toEqual(["must be string"]);
  });

  test("can refer to shared schemas, and to no others", () => {
    const schema = { $ref: "https://example.org/date" };
    const shared = { "https://example.org/date": { type: "string", format: "date" } };
    expect(compileSchema(schema, shared).validate("2026-02-30")).toEqual(['must match format "date"']);
    expect(() => compileSchema(schema)).toThrow(
      "does not refer to a known schema, and schemas are never fetched",
    );
  });

  test("resolves a $dynamicRef in the outermost schema", () => {
    const list = { $id: "list", items: { $dynamicRef: "#item" }, $defs: { any: { $dynamicAnchor: "item" } } };
    const schema = {
      $id: "https://example.org/",
      $ref: "list",
      $defs: { list, text: { $dynamicAnchor: "item", type: "string" } },
    };
    expect(errors(schema, ["a", 1])).toEqual(["/1 must be string"]);
  });

  test("ignores the siblings of a reference in draft 7", () => {
    const $schema = "http://json-schema.org/draft-07/schema#";
    const schema = { definitions: { a: {} }, properties: { a: { $ref: "#/definitions/a", type: "string" } } };
    expect(errors({ $schema, ...schema }, { a: 1 })).toBeUndefined();
    expect(errors(schema, { a: 1 })).toEqual(["/a must be string"]);
  });

  test("validates a property named __proto__ without polluting prototypes", () => {
    const schema = JSON.parse('{"properties":{"__proto__":{"type":"string"}},"additionalProperties":false}');
    expect(errors(schema, JSON.parse('{"__proto__":1}'))).toEqual(["/__proto__ must be string"]);
    expect(errors(schema, JSON.parse('{"__proto__":"a"}'))).toBeUndefined();
    expect({}).not.toHaveProperty("type");
  });

  test("finds duplicates among values of every kind", () => {
    const isUnique = (value: JsonValue): boolean => errors({ uniqueItems: true }, value) === undefined;
    expect(isUnique([1, "1", null, [1], { a: 1 }, "__proto__"])).toBe(true);
    expect(isUnique([{ a: 1, b: 2 }, 3, { b: 2, a: 1 }])).toBe(false);
    expect(isUnique(["__proto__", "__proto__"])).toBe(false);
  });

  test("accepts nothing if its enum is empty", () => {
    expect(errors({ enum: [] }, 1)).toEqual(["must be equal to one of the allowed values: []"]);
  });
});

describe("the errors of a value", () => {
  const schema = { type: "array", items: { type: "string" } };

  test("are all reported if they are few", () => {
    expect(errors(schema, [1, 2, 3])).toHaveLength(3);
  });

  test("are not all collected for a value of many thousands", () => {
    expect(errors(schema, new Array(90_000).fill(1))).toEqual(["/0 must be string"]);
  });

  test("do not repeat long names", () => {
    const long = "x".repeat(10_000);
    const [error = ""] = errors({ additionalProperties: false }, { [long]: 1 }) ?? [];
    expect(error.length).toBeLessThan(200);
    const [inner = ""] = errors({ additionalProperties: { type: "string" } }, { [long]: 1 }) ?? [];
    expect(inner.length).toBeLessThan(300);
  });
});
