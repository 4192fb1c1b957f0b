import { transformJSONSchema } from "@anthropic-ai/sdk/lib/transform-json-schema";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { toStrictJsonSchema } from "openai/lib/transform";
import { describe, expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../../src/json/value.ts";
// Inside: a property of random schemas, for each of which a protocol would need a registry.
import { toStrictSchema } from "../../../src/protocols/strict/schema.ts";
import {
  ANTHROPIC_STRICT,
  COMMON_STRICT,
  OPENAI_STRICT,
  type StrictSubset,
} from "../../../src/protocols/strict/subsets.ts";

const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: "object",
  properties,
  ...more,
});

function rewritten(schema: JsonObject, subset: StrictSubset): unknown {
  const result = toStrictSchema(schema, subset);
  return "schema" in result ? result.schema : expect.fail(JSON.stringify(result.problems));
}

function problems(schema: JsonObject, subset: StrictSubset = OPENAI_STRICT): readonly string[] {
  const result = toStrictSchema(schema, subset);
  return "problems" in result ? result.problems.map(({ path, reason }) => `${path}: ${reason}`) : [];
}

describe("toStrictSchema rewrites", () => {
  const schema = object(
    {
      city: { type: "string", minLength: 1, description: "Where" },
      unit: { enum: ["C", "F"], default: "C" },
      tags: { type: "array", items: { type: "string" }, maxItems: 3, uniqueItems: true },
      at: { $ref: "#/definitions/point" },
    },
    { required: ["city"], definitions: { point: object({ x: { type: "number" } }, { required: ["x"] }) } },
  );

  test("for OpenAI: every property is required, and an optional one can be null", () => {
    const x = { type: "number" };
    const closed = { additionalProperties: false };
    expect(rewritten(schema, OPENAI_STRICT)).toEqual({
      type: "object",
      properties: {
        city: { type: "string", description: "Where (minLength: 1)" },
        unit: {
          anyOf: [{ type: "string", enum: ["C", "F"] }, { type: "null" }],
          description: '(default: "C")',
        },
        tags: {
          anyOf: [{ type: "array", items: { type: "string" }, maxItems: 3 }, { type: "null" }],
          description: "(uniqueItems: true)",
        },
        at: { anyOf: [{ $ref: "#/$defs/point" }, { type: "null" }] },
      },
      required: ["city", "unit", "tags", "at"],
      ...closed,
      $defs: { point: { type: "object", properties: { x }, required: ["x"], ...closed } },
    });
  });

  test("for Anthropic: an optional property stays optional, and most bounds move to the description", () => {
    expect(rewritten(schema, ANTHROPIC_STRICT)).toMatchObject({
      properties: {
        unit: { type: "string", enum: ["C", "F"] },
        tags: { type: "array", description: "(maxItems: 3, uniqueItems: true)" },
      },
      required: ["city"],
      additionalProperties: false,
    });
  });

  test("alternatives, a single allOf, constants, and types that other keywords imply", () => {
    const schema = object({
      either: { oneOf: [{ type: "string" }, { properties: { a: { const: 1 } }, required: ["a"] }] },
      alone: { allOf: [{ type: "string" }], description: "One" },
    });
    expect(rewritten({ ...schema, required: ["either", "alone"] }, OPENAI_STRICT)).toMatchObject({
      properties: {
        either: {
          anyOf: [
            { type: "string" },
            { type: "object", properties: { a: { type: "number", enum: [1] } }, additionalProperties: false },
          ],
        },
        alone: { type: "string", description: "One" },
      },
    });
  });

  test("several types, each with its own keywords", () => {
    const schema = object({
      a: { type: ["integer", "string", "boolean"], enum: [1, "one", null], maximum: 5 },
    });
    expect(rewritten(schema, ANTHROPIC_STRICT)).toMatchObject({
      properties: {
        a: {
          anyOf: [
            { type: "integer", enum: [1] },
            { type: "string", enum: ["one"] },
          ],
          description: "(maximum: 5)",
        },
      },
    });
  });

  test("a reference with a description", () => {
    const schema = object(
      { a: { $ref: "#/$defs/b", description: "A b" } },
      { $defs: { b: { type: "string" } } },
    );
    expect(rewritten({ ...schema, required: ["a"] }, OPENAI_STRICT)).toMatchObject({
      properties: { a: { anyOf: [{ $ref: "#/$defs/b" }], description: "A b" } },
    });
  });

  test("recursion, if the provider supports it", () => {
    const schema = object({ next: { $ref: "#" } });
    expect(rewritten(schema, OPENAI_STRICT)).toMatchObject({
      properties: { next: { anyOf: [{ $ref: "#" }, { type: "null" }] } },
    });
    expect(problems(schema, ANTHROPIC_STRICT)).toEqual([": it is recursive"]);
  });

  test("properties of any name, also `__proto__`", () => {
    const schema = JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}') as JsonObject;
    const strict = rewritten(schema, ANTHROPIC_STRICT) as { properties: object };
    expect(Object.getOwnPropertyNames(strict.properties)).toEqual(["__proto__"]);
  });
});

test.each<[string, JsonObject, string]>([
  ["a root that is not an object", { type: "array", items: {} }, ": the root must have the type object only"],
  ["a root of alternatives", { anyOf: [object({})] }, "/anyOf: the root must not combine other schemas"],
  [
    "a map",
    object({}, { additionalProperties: true }),
    "/additionalProperties: additional properties are not supported",
  ],
  [
    "a free-form object",
    object({ "a/b": { type: "object" } }),
    "/properties/a~1b: an object without named properties is not supported",
  ],
  ["anything", object({ a: true }), "/properties/a: it is missing or a boolean: it needs a type"],
  ["no type", object({ a: { description: "?" } }), "/properties/a: it has no type"],
  ["a list of anything", object({ a: { type: "array" } }), "/properties/a/items: it is missing or a boolean"],
  ["a tuple", object({ a: { type: "array", items: [{}] } }), "/properties/a/items: it is missing"],
  ["not", object({ a: { type: "string", not: {} } }), "/properties/a/not: 'not' is not supported"],
  ["if", object({}, { if: {} }), "/if: 'if' is not supported"],
  [
    "patternProperties",
    object({}, { patternProperties: {} }),
    "/patternProperties: 'patternProperties' is not",
  ],
  [
    "allOf",
    object({ a: { allOf: [{ type: "string" }, {}] } }),
    "/properties/a/allOf: 'allOf' of several schemas",
  ],
  [
    "alternatives with other keywords",
    object({ a: { type: "string", anyOf: [{ type: "string" }] } }),
    "/properties/a/anyOf: 'anyOf' together with 'type' is not supported",
  ],
  [
    "a reference elsewhere",
    object({ a: { $ref: "#/properties/b" } }),
    "/properties/a/$ref: only references to #/$defs",
  ],
  [
    "an enum of objects",
    object({ a: { type: "object", properties: {}, enum: [{}] } }),
    "/properties/a: an enum of",
  ],
  ["no alternatives", object({ a: { anyOf: [] } }), "/properties/a/anyOf: 'anyOf' must list at least one"],
  ["an empty oneOf", object({ a: { oneOf: [] } }), "/properties/a/oneOf: 'oneOf' must list at least one"],
  [
    "an empty enum",
    object({ a: { type: "string", enum: [] } }),
    "/properties/a: no value has its type and one of its literals",
  ],
  [
    "literals of other types",
    object({ a: { type: ["string", "null"], enum: [1, 2] } }),
    "/properties/a: no value has its type and one of its literals",
  ],
  ["an unnamed required property", object({}, { required: ["a"] }), "/required: it requires a property that"],
])("toStrictSchema reports, with path and reason: %s", (_, schema, problem) => {
  expect(problems(schema).join()).toContain(problem);
});

test("toStrictSchema reports what exceeds the provider's limits", () => {
  let deep: JsonObject = { type: "string" };
  for (let depth = 0; depth < 10; depth++) deep = object({ a: deep });
  expect(problems(deep).join()).toContain("it is nested deeper than 10 levels");
  const wide = object(
    Object.fromEntries(Array.from({ length: 5_001 }, (_, at) => [`p${at}`, { type: "null" }])),
  );
  expect(problems(wide)).toEqual([": it has more than 5000 properties"]);
  const values = Array.from({ length: 1_001 }, (_, at) => at);
  expect(problems(object({ a: { enum: values } }, { required: ["a"] }))).toEqual([
    ": it has more than 1000 enum values",
  ]);
  // An enum of 15,000 characters may have 250 values, and no more.
  const texts = (count: number) => Array.from({ length: count }, (_, at) => String(at).padStart(60, "x"));
  const required = { required: ["a", "b"] };
  expect(problems(object({ a: { enum: texts(250) }, b: { enum: texts(250) } }, required))).toEqual([]);
  expect(problems(object({ a: { enum: texts(251) }, b: { enum: ["c"] } }, required))).toEqual([
    ": it has more than 15000 characters in an enum of more than 250 values",
  ]);
});

/** A schema, a valid value, and the same value in strict form. */
interface Sample {
  readonly schema: JsonObject;
  readonly value: JsonValue;
  readonly strict: JsonValue;
}

// ajv ignores a property named `__proto__`, and the engine refuses arguments that have one.
const propertyName = fc.string().filter((name) => name !== "__proto__");

const { sample } = fc.letrec<{ sample: Sample; object: Sample }>((tie) => {
  const scalar = (value: JsonValue, schema: JsonObject): Sample => ({ schema, value, strict: value });
  const property = fc.record({ sample: tie("sample"), required: fc.boolean(), present: fc.boolean() });
  return {
    sample: fc.oneof(
      { maxDepth: 4 },
      fc
        .string()
        .map((text) => scalar(text, { type: "string", minLength: text.length, maxLength: text.length })),
      fc.integer().map((number) => scalar(number, { type: "integer", minimum: number })),
      fc.boolean().map((value) => scalar(value, { enum: [value, "x", 3] })),
      fc.constant(scalar(null, { type: ["string", "null"], format: "email" })),
      tie("object"),
      tie("object").map(({ schema, value, strict }) => ({ schema: { oneOf: [schema] }, value, strict })),
      tie("sample").map(({ schema, value, strict }) => ({
        schema: { type: "array", items: schema, minItems: 1 },
        value: [value],
        strict: [strict],
      })),
    ),
    object: fc
      .dictionary(propertyName, property, { maxKeys: 4, noNullPrototype: true })
      .map((members): Sample => {
        const entries = Object.entries(members);
        const pick = <T>(list: typeof entries, get: (sample: Sample) => T): Record<string, T> =>
          Object.fromEntries(list.map(([name, { sample }]) => [name, get(sample)]));
        const there = entries.filter(([, { required, present }]) => required || present);
        const absent = entries.filter((entry) => !there.includes(entry));
        return {
          schema: {
            type: "object",
            properties: pick(entries, ({ schema }) => schema),
            required: entries.filter(([, { required }]) => required).map(([name]) => name),
          },
          value: pick(there, ({ value }) => value),
          strict: { ...pick(there, ({ strict }) => strict), ...pick(absent, () => null) },
        };
      }),
  };
});

const samples = sample.filter(({ schema }) => schema["type"] === "object");
const ajv = new Ajv2020({ strict: false, validateFormats: false, ownProperties: true, addUsedSchema: false });

describe("for random schemas", () => {
  test("the strict form for OpenAI accepts the same values, with null for missing ones", () => {
    fc.assert(
      fc.property(samples, ({ schema, value, strict }) => {
        expect(ajv.validate(schema, value)).toBe(true);
        expect(ajv.validate(rewritten(schema, OPENAI_STRICT) as JsonObject, strict)).toBe(true);
      }),
    );
  });

  test("the strict form for Anthropic accepts the same values", () => {
    fc.assert(
      fc.property(samples, ({ schema, value }) => {
        expect(ajv.validate(rewritten(schema, ANTHROPIC_STRICT) as JsonObject, value)).toBe(true);
      }),
    );
  });

  test("OpenAI's own SDK changes nothing in the strict form", () => {
    fc.assert(
      fc.property(samples, ({ schema }) => {
        const strict = rewritten(schema, OPENAI_STRICT) as JsonObject;
        expect(toStrictJsonSchema(structuredClone(strict))).toEqual(strict);
      }),
    );
  });

  test("Anthropic's own SDK moves nothing into descriptions in the strict form", () => {
    const descriptions = (schema: unknown): readonly string[] =>
      [...JSON.stringify(schema).matchAll(/"description":"([^"\\]|\\.)*"/g)].map(([text]) => text);
    fc.assert(
      fc.property(samples, fc.constantFrom(ANTHROPIC_STRICT, COMMON_STRICT), ({ schema }, subset) => {
        const strict = rewritten(schema, subset) as JsonObject;
        expect(descriptions(transformJSONSchema(strict as never))).toEqual(descriptions(strict));
      }),
    );
  });
});
