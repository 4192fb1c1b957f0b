import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonValue } from "../../../src/json/value.ts";
import { compileSchema } from "../../../src/schema/compiled-schema.ts";
import { type NormalizedSchema, normalizeSchema } from "../../../src/schema/dialects/normalize.ts";
import { SchemaError, type SchemaProblem } from "../../../src/schema/schema-error.ts";

const typeOf = (type: JsonValue): JsonValue | undefined =>
  normalizeSchema({ properties: { x: { type } } }).schema["properties"];

function problems(schema: unknown): readonly SchemaProblem[] {
  try {
    normalizeSchema(schema);
    return [];
  } catch (error) {
    expect(error).toBeInstanceOf(SchemaError);
    return (error as SchemaError).problems;
  }
}

const array = (items: JsonValue): JsonValue => ({ type: "array", items });

describe("normalizeSchema maps a type", () => {
  test.each<[string, JsonValue]>([
    ["dict", { type: "object" }],
    ["float", { type: "number" }],
    ["tuple", { type: "array" }],
    ["any", {}],
    ["str", { type: "string" }],
    ["list(str)", array({ type: "string" })],
    ["List[str]", array({ type: "string" })],
    ["Optional[int]", { type: ["integer", "null"] }],
    ["Union[int, str, None]", { type: ["integer", "string", "null"] }],
    ["Union[int, List[int]]", { anyOf: [{ type: "integer" }, array({ type: "integer" })] }],
    ["Dict[str, List[int]]", { type: "object", additionalProperties: array({ type: "integer" }) }],
    ["Tuple[int, ...]", array({ type: "integer" })],
    ["Literal['a', 'b']", { enum: ["a", "b"] }],
    ["typing.Annotated[int, 5]", { type: "integer" }],
    ["HashMap<String, Integer>", { type: "object", additionalProperties: { type: "integer" } }],
    ["java.util.ArrayList<Double>", array({ type: "number" })],
    ["Boolean", { type: "boolean" }],
    ["Object", { type: "object" }],
    ["Date", { type: "string" }],
    ["Record<string, any>", { type: "object" }],
    ["string[][]", array(array({ type: "string" }))],
    ["'a' | 'b'", { enum: ["a", "b"] }],
    ["string | null", { type: ["string", "null"] }],
    ["(string | number)[]", array({ type: ["string", "number"] })],
    ["int?", { type: ["integer", "null"] }],
    ["[]string", array({ type: "string" })],
    ["[3]float64", array({ type: "number" })],
    ["map[string][]int", { type: "object", additionalProperties: array({ type: "integer" }) }],
    ["interface{}", {}],
    ["*string", { type: "string" }],
    ["Vec<Option<u8>>", array({ type: ["integer", "null"] })],
    ["&str", { type: "string" }],
    ["std::vector<std::string>", array({ type: "string" })],
    ["list of str", array({ type: "string" })],
    ["array of integers", array({ type: "integer" })],
    ["unsigned int", { type: "integer" }],
    ["varchar(20)", { type: "string" }],
    ["STRING", { type: "string" }],
    ["TYPE_UNSPECIFIED", {}],
  ])("%s", (type, schema) => {
    expect(typeOf(type)).toEqual({ x: schema });
  });

  test("to a tuple in the keywords of its draft", () => {
    const bounds = { type: "array", minItems: 2, maxItems: 2 };
    const items = [{ type: "integer" }, { type: "string" }];
    expect(typeOf("Tuple[int, str]")).toEqual({ x: { ...bounds, prefixItems: items } });
    const $schema = "http://json-schema.org/draft-07/schema#";
    expect(normalizeSchema({ $schema, type: "[int, str]" }).schema).toEqual({ $schema, ...bounds, items });
  });

  test("in a list of types", () => {
    expect(typeOf(["str", "none"])).toEqual({ x: { type: ["string", "null"] } });
  });

  test("of one dialect only, if the options name one", () => {
    expect(normalizeSchema({ type: "str" }, { dialect: "python" }).schema).toEqual({ type: "string" });
    expect(() => normalizeSchema({ type: "ArrayList" }, { dialect: "python" })).toThrow(
      "'ArrayList' is not a known type",
    );
    expect(() => normalizeSchema({}, { dialect: "klingon" as "auto" })).toThrow("unknown dialect");
  });

  test.each([
    ["DataFrame", /'DataFrame' is not a known type/],
    ["list[DataFrame]", /'DataFrame' is not a known type/],
    ["", /unexpected end/],
    ["list[", /unexpected end/],
    ["a b]", /unexpected ']'/],
    ["int<str>", /takes no type arguments/],
    ["Union", /requires type arguments/],
    ["%", /unexpected character/],
    ["[".repeat(200), /nested too deeply/],
    ["x".repeat(1_000), /longer than/],
    [["str", 5], /name or a list/],
    [{ type: "str" }, /name or a list/],
    [5, /name or a list/],
  ])("or refuses it with path and reason: %j", (type, reason) => {
    expect(problems({ properties: { x: { type } } })).toContainEqual({
      path: "/properties/x/type",
      reason: expect.stringMatching(reason),
    });
  });
});

describe("normalizeSchema maps a schema", () => {
  const schemaOf = (schema: unknown): JsonValue => normalizeSchema(schema).schema;

  test("with required and optional inside its properties", () => {
    const given = {
      type: "dict",
      properties: {
        a: { type: "str", required: true },
        b: { type: "str", required: "false" },
        c: { type: "str", optional: false },
        d: { type: "str", optional: true },
      },
      required: ["d"],
    };
    const text = { type: "string" };
    expect(schemaOf(given)).toEqual({
      type: "object",
      properties: { a: text, b: text, c: text, d: text },
      required: ["d", "a", "c"],
    });
  });

  test("with properties that are named like keywords", () => {
    const property = { type: "str" };
    const names = ["type", "properties", "required", "items", "enum", "nullable", "$ref"];
    const given = { type: "dict", properties: Object.fromEntries(names.map((name) => [name, property])) };
    const properties = Object.fromEntries(names.map((name) => [name, { type: "string" }]));
    expect(schemaOf(given)).toEqual({ type: "object", properties });
  });

  test("that lists its properties", () => {
    const expected = {
      type: "object",
      properties: { a: { type: "string" }, b: { type: "integer" } },
      required: ["a"],
    };
    const list = [
      { name: "a", type: "str", required: true },
      { name: "b", type: "int" },
    ];
    expect(schemaOf({ type: "object", properties: list })).toEqual(expected);
    expect(schemaOf(list)).toEqual(expected);
    const [a, b] = [
      { name: "a", type: "str" },
      { name: "b", type: "int" },
    ];
    expect(schemaOf({ required_parameters: [a], optional_parameters: [b] })).toEqual(expected);
    expect(schemaOf({ a: { type: "str", required: true }, b: { type: "int" } })).toEqual(expected);
    expect(problems([{ type: "str" }])[0]?.reason).toBe("the property has no name");
    expect(problems([a, a])[0]?.reason).toBe("duplicate property 'a'");
  });

  test("with type names in place of schemas", () => {
    expect(schemaOf({ properties: { a: "str" }, items: "int[]" })).toEqual({
      properties: { a: { type: "string" } },
      items: array({ type: "integer" }),
    });
  });

  test.each<[string, JsonValue, JsonValue]>([
    [
      "nullable",
      { type: "string", nullable: true, enum: ["a"] },
      { type: ["string", "null"], enum: ["a", null] },
    ],
    [
      "a nullable reference",
      { $ref: "#/$defs/a", nullable: true, $defs: { a: { type: "STRING" } } },
      { anyOf: [{ $ref: "#/$defs/a" }, { type: "null" }], $defs: { a: { type: "string" } } },
    ],
    ["an example", { type: "integer", example: 5 }, { type: "integer", examples: [5] }],
    ["exclusive bounds of draft 4", { minimum: 1, exclusiveMinimum: true }, { exclusiveMinimum: 1 }],
    ["bounds of draft 4 that are not exclusive", { maximum: 1, exclusiveMaximum: false }, { maximum: 1 }],
    ["divisibleBy of draft 3", { divisibleBy: 2 }, { multipleOf: 2 }],
    [
      "items of draft 7",
      { items: [{ type: "int" }], additionalItems: false },
      { prefixItems: [{ type: "integer" }], items: false },
    ],
    [
      "dependencies of draft 7",
      { dependencies: { a: ["b"], c: { type: "dict" } } },
      { dependentRequired: { a: ["b"] }, dependentSchemas: { c: { type: "object" } } },
    ],
    ["counts as strings", { type: "STRING", maxLength: "64" }, { type: "string", maxLength: 64 }],
    ["an enumeration as a type", { type: "enum", values: ["a"] }, { enum: ["a"] }],
  ])("with %s", (_case, given, expected) => {
    expect(schemaOf(given)).toEqual(expected);
  });

  test("and reports each change", () => {
    const { changes } = normalizeSchema({ type: "dict", properties: { a: { type: "any", example: 1 } } });
    expect(changes).toEqual([
      { path: "/type", from: "dict", to: "object" },
      { path: "/properties/a/example", from: 1 },
      { path: "/properties/a/examples", to: [1] },
      { path: "/properties/a/type", from: "any", to: {} },
    ]);
  });
});

describe("JSON Schema", () => {
  test("is not changed by normalizeSchema", () => {
    const schema = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: { type: { type: "string", description: "a type" }, list: { type: "array", items: true } },
      required: ["type"],
      additionalProperties: false,
      $defs: { a: { $ref: "#" } },
    };
    expect(normalizeSchema(schema)).toEqual({ schema, changes: [] });
  });

  test("is the result for any input, unless it is refused with a SchemaError", () => {
    const keyword = fc.constantFrom(
      "type",
      "properties",
      "items",
      "required",
      "nullable",
      "enum",
      "anyOf",
      "x",
    );
    const value = fc.letrec((tie) => ({
      schema: fc.dictionary(keyword, tie("value"), { maxKeys: 4 }),
      value: fc.oneof(
        { depthSize: "small" },
        fc.constantFrom("str", "list[int]", "object", true, 5, null),
        tie("schema"),
        fc.array(tie("value"), { maxLength: 3 }),
      ),
    }));
    fc.assert(
      fc.property(value.schema, (schema) => {
        let normalized: NormalizedSchema;
        try {
          normalized = normalizeSchema(schema);
        } catch (error) {
          expect(error).toBeInstanceOf(SchemaError);
          return;
        }
        compileSchema(normalized.schema);
        expect(normalizeSchema(normalized.schema)).toEqual({ schema: normalized.schema, changes: [] });
      }),
      { numRuns: 500 },
    );
  });
});

describe("normalizeSchema guesses nothing", () => {
  test.each<[string, unknown, string, RegExp]>([
    ["an enumeration without values", { type: "enum" }, "/type", /has no values/],
    ["a schema without keywords", { foo: 1 }, "", /none of its members is a schema keyword/],
    ["required that is not a list", { required: "path" }, "/required", /list of names/],
    ["what JSON cannot express", { default: 1n }, "", /of type bigint/],
    ["a value that is not a schema", 5, "", /must be an object/],
    ["an invalid keyword value", { type: "str", minLength: "long" }, "/minLength", /non-negative integer/],
    [
      "more values than the bound",
      { enum: Array.from({ length: 60_000 }, (_, i) => i) },
      "",
      /more than 50000 values/,
    ],
  ])("%s is refused", (_case, schema, path, reason) => {
    expect(problems(schema)).toContainEqual({ path, reason: expect.stringMatching(reason) });
  });
});
