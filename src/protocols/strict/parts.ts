import type { JsonObject, JsonValue } from "../../json/value.ts";

/**
 * Keywords that only bound a value. Models mostly respect them in a description, and arguments are validated anyway.
 */
export const BOUNDS: readonly string[] = [
  "minLength",
  "maxLength",
  "pattern",
  "format",
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minItems",
  "maxItems",
  "uniqueItems",
  "minProperties",
  "maxProperties",
  "default",
];
/** Keywords that cannot be expressed. */
export const UNSUPPORTED: readonly string[] = [
  "not",
  "if",
  "then",
  "else",
  "patternProperties",
  "propertyNames",
  "dependencies",
  "dependentRequired",
  "dependentSchemas",
  "unevaluatedProperties",
  "unevaluatedItems",
  "contains",
  "prefixItems",
  "additionalItems",
  "$dynamicRef",
  "$recursiveRef",
];
/** Keywords that describe the structure of a value. */
export const STRUCTURE: readonly string[] = ["type", "properties", "required", "items", "enum", "const"];
/** Keywords that combine other schemas. */
export const COMBINING: readonly string[] = ["$ref", "allOf", "anyOf", "oneOf"];

/** Returns the types of a schema: those of `type`, or those that its other keywords imply. */
export function typesOf(schema: JsonObject): readonly JsonValue[] {
  const { type, properties, items } = schema;
  if (Array.isArray(type)) return type;
  if (type !== undefined) return [type];
  if (properties !== undefined) return ["object"];
  if (items !== undefined) return ["array"];
  return [...new Set(literalsOf(schema)?.map((literal) => (literal === null ? "null" : typeof literal)))];
}

/** Returns the values that `enum` or `const` allow; `undefined` without either. */
export function literalsOf({ enum: values, const: value }: JsonObject): readonly JsonValue[] | undefined {
  if (Array.isArray(values)) return values;
  return value === undefined ? undefined : [value];
}

/** Returns whether a scalar has a JSON Schema type. */
export function isOfType(value: JsonValue, type: JsonValue): boolean {
  if (type === "null") return value === null;
  if (type === "integer") return Number.isInteger(value);
  return typeof value === type;
}

/** Makes the schema of an optional value accept null, which stands for a missing value in strict mode. */
export function nullable({ description, ...schema }: JsonObject): JsonObject {
  const described = description === undefined ? {} : { description };
  const alternatives = Array.isArray(schema["anyOf"]) ? (schema["anyOf"] as readonly JsonObject[]) : [schema];
  const takesNull = alternatives.some(({ type }) => type === "null");
  return { ...described, anyOf: takesNull ? alternatives : [...alternatives, { type: "null" }] };
}

/** Adds the title and description to a rewritten schema, and the unsupported bounds to the description. */
export function annotate(strict: JsonObject, schema: JsonObject): JsonObject {
  const { title, description } = schema;
  const bounds = BOUNDS.flatMap((bound) => {
    const limit = schema[bound];
    return limit === undefined || strict[bound] !== undefined ? [] : [`${bound}: ${JSON.stringify(limit)}`];
  });
  const texts = [
    ...(typeof description === "string" && description !== "" ? [description] : []),
    ...(bounds.length > 0 ? [`(${bounds.join(", ")})`] : []),
  ];
  const annotations = {
    ...(typeof title === "string" && { title }),
    ...(texts.length > 0 && { description: texts.join(" ") }),
  };
  if (Object.keys(annotations).length === 0) return strict;
  // A reference must not have siblings.
  return strict["$ref"] === undefined ? { ...strict, ...annotations } : { anyOf: [strict], ...annotations };
}
