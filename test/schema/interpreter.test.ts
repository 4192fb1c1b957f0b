import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../src/json/value.ts";
import { MAX_COMPILED_KEYWORDS, meter } from "../../src/schema/bounds.ts";
// Inside: compares interpreter and compiler on the same schemas; the face takes one of them by size.
import { compileLowered } from "../../src/schema/compile/compiler.ts";
import { lowerSchema } from "../../src/schema/compile/lower.ts";
import { compileSchema, describeErrors } from "../../src/schema/compiled-schema.ts";
import { Interpreter } from "../../src/schema/interpreter.ts";

type Problems = readonly string[] | undefined;

const text = ({ path, message }: { readonly path: string; readonly message: string }): string =>
  `${path}: ${message}`;

function interpret(schema: JsonObject, value: JsonValue): Problems {
  meter.reset();
  const errors = new Interpreter(lowerSchema(schema)).validate(value);
  return errors && describeErrors(errors).map(text);
}

function compiled(schema: JsonObject, value: JsonValue): Problems {
  meter.reset();
  const isValid = compileLowered(lowerSchema(schema), "first");
  return isValid(value) ? undefined : describeErrors(isValid.errors ?? []).map(text);
}

const DRAFT_7 = "http://json-schema.org/draft-07/schema#";

describe("the interpreter of large schemas reports the same as the compiler of small ones", () => {
  test.each<[JsonObject, JsonValue]>([
    [{ type: "string" }, 1],
    [{ type: ["string", "null"] }, 1],
    [{ enum: ["a", { b: 1 }] }, { b: 2 }],
    [{ const: { a: [1] } }, { a: [2] }],
    [{ multipleOf: 0.1 }, 0.25],
    [{ maximum: 1 }, 2],
    [{ exclusiveMaximum: 1 }, 1],
    [{ minimum: 1 }, 0],
    [{ exclusiveMinimum: 1 }, 1],
    [{ maxLength: 1 }, "é😀"],
    [{ minLength: 3 }, "😀😀"],
    [{ pattern: "^(a+)+$" }, "ab"],
    [{ format: "date" }, "2026-02-30"],
    [{ format: "int32" }, 2 ** 40],
    [{ maxItems: 1 }, [1, 2]],
    [{ minItems: 1 }, []],
    [{ uniqueItems: true }, [{ a: 1 }, { a: 1 }]],
    [{ maxProperties: 1 }, { a: 1, b: 2 }],
    [{ minProperties: 1 }, {}],
    [{ required: ["a", "b"] }, { a: 1 }],
    [{ properties: { "a/b": { type: "string" } } }, { "a/b": 1 }],
    [{ patternProperties: { "^a": { type: "string" } } }, { ab: 1 }],
    [
      { properties: { a: {} }, additionalProperties: false },
      { a: 1, b: 2 },
    ],
    [{ additionalProperties: { type: "string" } }, { a: 1 }],
    [{ propertyNames: { maxLength: 1 } }, { ab: 1 }],
    [{ dependentRequired: { a: ["b"] } }, { a: 1 }],
    [{ dependentSchemas: { a: { required: ["b"] } } }, { a: 1 }],
    [{ prefixItems: [{ type: "string" }], items: { type: "number" } }, ["a", 1, "b"]],
    [{ prefixItems: [{ type: "string" }], items: false }, ["a", 1]],
    [{ items: { items: { type: "number" } } }, [[1], [2, "a"]]],
    [{ contains: { type: "number" } }, ["a"]],
    [{ contains: { type: "number" }, minContains: 2, maxContains: 3 }, [1, "a"]],
    [{ allOf: [{ type: "string" }, { maxLength: 1 }] }, "ab"],
    [{ anyOf: [{ type: "string" }, { minimum: 5 }] }, 1],
    [{ oneOf: [{ type: "string" }, { minimum: 5 }] }, 1],
    [{ oneOf: [{ type: "number" }, { minimum: 5 }] }, 7],
    [{ not: { type: "number" } }, 1],
    // biome-ignore lint/suspicious/noThenProperty: the keyword's name
    [{ if: { type: "number" }, then: { minimum: 5 } }, 1],
    [{ if: { type: "string" }, else: { minimum: 5 } }, 1],
    [{ $defs: { a: { type: "string" } }, properties: { x: { $ref: "#/$defs/a" } } }, { x: 1 }],
    [
      { allOf: [{ properties: { a: {} } }], unevaluatedProperties: false },
      { a: 1, b: 2 },
    ],
    [{ anyOf: [{ required: ["a"], properties: { a: {} } }, {}], unevaluatedProperties: false }, { a: 1 }],
    [{ prefixItems: [{}], unevaluatedItems: false }, [1, 2]],
    [{ $schema: DRAFT_7, items: [{ type: "string" }], additionalItems: false }, ["a", 1]],
    [
      { $schema: DRAFT_7, dependencies: { a: ["b"], c: { minProperties: 3 } } },
      { a: 1, c: 1 },
    ],
    [{ properties: { a: false } }, { a: 1 }],
  ])("%j with %j", (schema, value) => {
    expect(interpret(schema, value)).toEqual(compiled(schema, value));
  });

  const scalar = fc.oneof(fc.constantFrom<JsonValue>("", "a", "ab", 0, 1, 2.5, true, null));
  const { value: values } = fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      scalar,
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom("a", "b", "c"), tie("value"), { maxKeys: 3, noNullPrototype: true }),
    ) as fc.Arbitrary<JsonValue>,
  }));
  const { schema: schemas } = fc.letrec<{ schema: JsonObject }>((tie) => {
    const list = fc.array(tie("schema"), { minLength: 1, maxLength: 3 });
    const map = fc.dictionary(fc.constantFrom("a", "b", "c"), tie("schema"), {
      maxKeys: 2,
      noNullPrototype: true,
    });
    const count = fc.integer({ min: 0, max: 2 });
    const members: Record<string, fc.Arbitrary<unknown>> = {
      type: fc.constantFrom("object", "array", "string", "number", "integer", ["null", "boolean"]),
      enum: fc.array(values, { minLength: 1, maxLength: 2 }),
      const: values,
      minimum: count,
      maxLength: count,
      minItems: count,
      maxProperties: count,
      uniqueItems: fc.boolean(),
      required: fc.subarray(["a", "b", "c"]),
      pattern: fc.constant("^a"),
      properties: map,
      dependentSchemas: map,
      patternProperties: map,
      additionalProperties: fc.oneof(fc.boolean(), tie("schema")),
      propertyNames: tie("schema"),
      items: tie("schema"),
      prefixItems: list,
      allOf: list,
      anyOf: list,
      oneOf: list,
      not: tie("schema"),
      if: tie("schema"),
      // biome-ignore lint/suspicious/noThenProperty: the keyword's name
      then: tie("schema"),
      else: tie("schema"),
      unevaluatedProperties: fc.oneof(fc.boolean(), tie("schema")),
      $ref: fc.constant("#/$defs/d"),
    };
    return {
      schema: fc.oneof(
        { maxDepth: 3 },
        fc.constant<JsonObject>({}),
        fc
          .subarray(Object.keys(members), { maxLength: 4 })
          .chain((names) =>
            fc.record(Object.fromEntries(names.map((name) => [name, members[name] ?? fc.constant(true)]))),
          ),
      ) as fc.Arbitrary<JsonObject>,
    };
  });

  test("for any schemas and values", () => {
    fc.assert(
      fc.property(schemas, values, (schema, value) => {
        const root = { ...schema, $defs: { d: { type: ["object", "string", "number"], maxProperties: 2 } } };
        // What ajv does not count as evaluated, see test/corpora/known/schema-misses.ts.
        fc.pre(!/"if".*"unevaluated|"unevaluated.*"if"/.test(JSON.stringify(root)));
        // What ajv compiles to code that throws: `patternProperties` around `anyOf` with `unevaluatedProperties`.
        fc.pre(
          !/"patternProperties".*"unevaluated|"unevaluated.*"patternProperties"/.test(JSON.stringify(root)),
        );
        expect(interpret(root, value) === undefined).toBe(compiled(root, value) === undefined);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("a schema too large to compile", () => {
  const count = MAX_COMPILED_KEYWORDS;
  const properties = Object.fromEntries(
    Array.from({ length: count }, (_, i) => [`p${i}`, { type: i % 2 === 0 ? "string" : "integer" }]),
  );
  const schema = { type: "object", properties, required: ["p0"], additionalProperties: false };

  test("accepts, refuses and adapts values as a small one does", () => {
    const large = compileSchema(schema);
    const value = Object.fromEntries(Object.keys(properties).map((name, i) => [name, i % 2 ? 1 : "x"]));
    expect(large.validate(value)).toBeUndefined();
    expect(large.accept({ p0: "x", p2: null })).toEqual({ value: { p0: "x" } });
    const coerced = large.accept({ p0: "x", p1: "7" }, { nullForOptional: "reject", coerce: true });
    expect(coerced).toEqual({ value: { p0: "x", p1: 7 } });
    expect(large.validate({ p0: 1 })).toEqual(["/p0 must be string"]);
    expect(large.validate({})).toEqual(["must have required property 'p0'"]);
    expect(large.validate({ p0: "", constructor: 1 })).toEqual([
      "must NOT have additional properties: 'constructor'",
    ]);
    expect(large.validate(value)).toBeUndefined();
  });

  test("has members that a literal cannot have", () => {
    const odd = JSON.parse('{"__proto__": {"type": "string"}, "constructor": {"type": "string"}}');
    const large = compileSchema({ properties: { ...properties, ...odd } });
    expect(compileSchema({ ...schema, properties: { ...properties, ...odd } })).toBeDefined();
    expect(large.validate(JSON.parse('{"__proto__": "x", "constructor": 1}'))).toEqual([
      "/constructor must be string",
    ]);
    expect(large.validate({})).toBeUndefined();
  });

  test("refuses a value that is nested too deeply to validate with it", () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 200 }, (_, i) => [`d${i}`, { allOf: [{ $ref: `#/$defs/d${i + 1}` }] }]),
    );
    const chain = { $ref: "#/$defs/d0", $defs: { ...$defs, d200: { properties: { a: { $ref: "#" } } } } };
    let value: JsonValue = {};
    for (let i = 0; i < 200; i++) value = { a: value };
    expect(compileSchema(chain).validate(value)).toHaveLength(1);
    expect(compileSchema(chain).validate({ a: {} })).toBeUndefined();
  });
});

describe("the work of a large schema is bounded", () => {
  const TOO_MUCH = ["too expensive to validate: send less at once"];
  const many = <T>(count: number, make: (index: number) => T): T[] =>
    Array.from({ length: count }, (_, i) => make(i));
  const members = Object.fromEntries(many(15_000, (i) => [`p${i}`, "x"]));
  const objects = many(10_000, (i) => ({ a: i }));

  test.each<[string, JsonObject, JsonValue]>([
    [
      "many patterns and many members",
      { patternProperties: Object.fromEntries(many(1_200, (i) => [`^a${i}$`, {}])) },
      members,
    ],
    ["many comparisons of large values", { anyOf: many(1_600, (i) => ({ enum: [[i]] })) }, objects],
    ["many searches for equal items", { allOf: many(1_600, () => ({ uniqueItems: true })) }, objects],
    [
      "many schemas for many items",
      { items: { allOf: many(1_600, (i) => ({ minimum: -i })) } },
      many(10_000, () => 1),
    ],
    [
      "many schemas for many members",
      { allOf: many(900, (i) => ({ additionalProperties: { maxLength: i + 1 } })) },
      members,
    ],
  ])("with %s", (_case, schema, value) => {
    const found = compileSchema(schema).validate(value);
    expect(found).toEqual(TOO_MUCH);
  });
});
