import type { JsonObject, JsonValue } from "../../json/value.ts";
import { BOUNDS } from "../strict-keywords.ts";

/** The types of a schema: what it says, or what its other keywords can only mean. */
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
  const told = description === undefined ? {} : { description };
  const alternatives = Array.isArray(schema["anyOf"]) ? (schema["anyOf"] as readonly JsonObject[]) : [schema];
  const takesNull = alternatives.some(({ type }) => type === "null");
  return { ...told, anyOf: takesNull ? alternatives : [...alternatives, { type: "null" }] };
}

/** Adds the title and description to a rewritten schema, and the unsupported bounds to the description. */
export function annotate(strict: JsonObject, schema: JsonObject): JsonObject {
  const { title, description } = schema;
  const bounds = BOUNDS.flatMap((bound) => {
    const limit = schema[bound];
    return limit === undefined || strict[bound] !== undefined ? [] : [`${bound}: ${JSON.stringify(limit)}`];
  });
  const told = [
    ...(typeof description === "string" && description !== "" ? [description] : []),
    ...(bounds.length > 0 ? [`(${bounds.join(", ")})`] : []),
  ];
  const annotations = {
    ...(typeof title === "string" && { title }),
    ...(told.length > 0 && { description: told.join(" ") }),
  };
  if (Object.keys(annotations).length === 0) return strict;
  // A reference must not have siblings.
  return strict["$ref"] === undefined ? { ...strict, ...annotations } : { anyOf: [strict], ...annotations };
}
