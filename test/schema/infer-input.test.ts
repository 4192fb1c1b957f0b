import { describe, expect, expectTypeOf, test } from "vitest";
import type { JsonObject, JsonValue } from "../../src/json/value.ts";
import { compileSchema } from "../../src/schema/compiled-schema.ts";
import type { InferInput } from "../../src/schema/standard-schema.ts";

/**
 * Holds a schema's type against its validation: the compiler checks that each value has the type, and the validator
 * must accept it. `refused` are values that the type excludes, each under `@ts-expect-error`, and so must validation.
 */
function accepts<const Schema extends JsonObject>(schema: Schema, ...values: InferInput<Schema>[]): void {
  const compiled = compileSchema(schema);
  for (const value of values)
    expect(compiled.validate(value as JsonValue), JSON.stringify(value)).toBeUndefined();
}

function refuses(schema: JsonObject, ...values: JsonValue[]): void {
  const compiled = compileSchema(schema);
  for (const value of values) expect(compiled.validate(value), JSON.stringify(value)).toBeDefined();
}

const OBJECT = {
  type: "object",
  properties: { path: { type: "string" }, lines: { type: "integer" } },
  required: ["path"],
} as const;
const CLOSED = { ...OBJECT, additionalProperties: false } as const;
const OPEN = { ...OBJECT, additionalProperties: { type: "boolean" } } as const;
const NESTED = {
  type: "object",
  properties: { tags: { type: "array", items: { type: ["string", "null"] } }, at: OBJECT },
  required: ["tags", "at", "unlisted"],
} as const;
const ENUM = { enum: ["a", 1, null] } as const;
const NARROWED = { type: "string", enum: ["a", 1, "b"] } as const;
const TAGGED = {
  oneOf: [
    {
      type: "object",
      properties: { kind: { const: "file" }, path: { type: "string" } },
      required: ["kind", "path"],
    },
    { type: "object", properties: { kind: { const: "none" } }, required: ["kind"] },
  ],
} as const;
const BOTH = {
  type: "object",
  properties: { a: { type: "string" } },
  required: ["a"],
  allOf: [{ type: "object", properties: { b: { type: "number" } }, required: ["b"] }, { minProperties: 2 }],
} as const;
const PAIR = {
  type: "array",
  prefixItems: [{ type: "string" }, { type: "number" }],
  minItems: 2,
  items: false,
} as const;
const OPEN_PAIR = { type: "array", prefixItems: [{ type: "string" }], items: { type: "boolean" } } as const;

describe("The type of a schema's input", () => {
  test("of an object has its properties, the required ones and the others", () => {
    expectTypeOf<InferInput<typeof OBJECT>>().toEqualTypeOf<{
      readonly path: string;
      readonly lines?: number;
    }>();
    accepts(OBJECT, { path: "a" }, { path: "a", lines: 1 });
    // @ts-expect-error: a required property is missing
    expect(() => accepts(OBJECT, { lines: 1 })).toThrow();
    // @ts-expect-error: a property has another type
    expect(() => accepts(OBJECT, { path: 1 })).toThrow();
  });

  test("of an object with additional properties has their type as an index signature", () => {
    accepts(CLOSED, { path: "a" });
    refuses(CLOSED, { path: "a", more: 1 });
    expectTypeOf<InferInput<typeof OPEN>["path"]>().toEqualTypeOf<string>();
    expectTypeOf<InferInput<typeof OPEN>["anything"]>().toEqualTypeOf<boolean>();
    refuses(OPEN, { path: "a", more: 1 });
  });

  test("of nested schemas has their types, and JSON for required properties without a schema", () => {
    expectTypeOf<InferInput<typeof NESTED>>().toEqualTypeOf<{
      readonly tags: readonly (string | null)[];
      readonly at: InferInput<typeof OBJECT>;
      readonly unlisted: JsonValue;
    }>();
    accepts(NESTED, { tags: ["a", null], at: { path: "a" }, unlisted: [1] });
  });

  test("of an enum or a constant is a union of the values that the type allows", () => {
    expectTypeOf<InferInput<typeof ENUM>>().toEqualTypeOf<"a" | 1 | null>();
    accepts(ENUM, "a", 1, null);
    expectTypeOf<InferInput<typeof NARROWED>>().toEqualTypeOf<"a" | "b">();
    accepts(NARROWED, "a", "b");
    refuses(NARROWED, 1, "c");
  });

  test("of alternatives is a union that their constants discriminate", () => {
    type Input = InferInput<typeof TAGGED>;
    const pathOf = (input: Input): string => (input.kind === "file" ? input.path : "");
    expect(pathOf({ kind: "file", path: "a" })).toBe("a");
    accepts(TAGGED, { kind: "file", path: "a" }, { kind: "none" });
    // @ts-expect-error: the first alternative needs a path
    expect(() => accepts(TAGGED, { kind: "file" })).toThrow();
  });

  test("of allOf has what all parts say", () => {
    expectTypeOf<InferInput<typeof BOTH>>().toExtend<{ readonly a: string; readonly b: number }>();
    accepts(BOTH, { a: "a", b: 1 });
    // @ts-expect-error: the second part needs b
    expect(() => accepts(BOTH, { a: "a" })).toThrow();
  });

  test("of a tuple has the types of its items, which may be missing unless minItems is their number", () => {
    expectTypeOf<InferInput<typeof PAIR>>().toEqualTypeOf<readonly [string, number]>();
    accepts(PAIR, ["a", 1]);
    refuses(PAIR, ["a"], ["a", 1, 2]);
    expectTypeOf<InferInput<typeof OPEN_PAIR>>().toEqualTypeOf<readonly [string?, ...boolean[]]>();
    accepts(OPEN_PAIR, [], ["a"], ["a", true]);
  });

  test("is any JSON where the schema is not known, or says nothing that a type could", () => {
    expectTypeOf<InferInput<JsonObject>>().toEqualTypeOf<JsonValue>();
    expectTypeOf<InferInput<{ readonly type: string }>>().toEqualTypeOf<JsonValue>();
    const some = { minLength: 2, if: { type: "string" } } as const;
    expectTypeOf<InferInput<typeof some>>().toEqualTypeOf<JsonValue>();
    accepts(some, 1, "ab");
    const reference = {
      $defs: { a: { type: "string" } },
      properties: { x: { $ref: "#/$defs/a" } },
      type: "object",
    } as const;
    expectTypeOf<InferInput<typeof reference>>().toEqualTypeOf<{ readonly x?: JsonValue }>();
    accepts(reference, { x: "a" });
    const untyped = { properties: { a: { type: "string" } } } as const;
    expectTypeOf<InferInput<typeof untyped>>().toEqualTypeOf<JsonValue>();
    accepts(untyped, 1, { a: "a" });
    const plain = { type: "object" } as const;
    expectTypeOf<InferInput<typeof plain>>().toEqualTypeOf<JsonObject>();
    const list = { type: "array" } as const;
    expectTypeOf<InferInput<typeof list>>().toEqualTypeOf<readonly JsonValue[]>();
  });

  test("ends at ten levels", () => {
    interface Deep {
      readonly type: "array";
      readonly items: Deep;
    }
    expectTypeOf<InferInput<Deep>>().toExtend<readonly (readonly JsonValue[])[]>();
    expectTypeOf<InferInput<Deep>[0]>().not.toBeAny();
  });
});
