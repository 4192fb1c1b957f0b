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

/** The values that `enum` or `const` allow; `undefined` where any is. */
export function literalsOf({ enum: values, const: value }: JsonObject): readonly JsonValue[] | undefined {
  if (Array.isArray(values)) return values;
  return value === undefined ? undefined : [value];
}

/** Whether a scalar is of a JSON Schema type. */
export function isOfType(value: JsonValue, type: JsonValue): boolean {
  if (type === "null") return value === null;
  if (type === "integer") return Number.isInteger(value);
  return typeof value === type;
}

/** The same schema for a value that may be left out, which strict modes say with null. */
export function nullable({ description, ...schema }: JsonObject): JsonObject {
  const told = description === undefined ? {} : { description };
  const alternatives = Array.isArray(schema["anyOf"]) ? (schema["anyOf"] as readonly JsonObject[]) : [schema];
  const takesNull = alternatives.some(({ type }) => type === "null");
  return { ...told, anyOf: takesNull ? alternatives : [...alternatives, { type: "null" }] };
}

/** Gives a rewritten schema its title and description, and the bounds that only the description can tell. */
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
  // A reference stands alone.
  return strict["$ref"] === undefined ? { ...strict, ...annotations } : { anyOf: [strict], ...annotations };
}
