import { canonicalText } from "../json/canonical.ts";
import { escapePointer } from "../json/pointer.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/value.ts";
import { DEFINITIONS, KEYWORDS } from "./keywords.ts";

/** A schema within a schema, and its JSON pointer from there. */
export interface Subschema {
  readonly path: string;
  readonly schema: JsonValue;
}

/** Returns the immediate subschemas of a schema, definitions included. They are not checked. */
export function subschemas(schema: JsonObject): readonly Subschema[] {
  const found: Subschema[] = [];
  for (const keyword of Object.keys(schema)) {
    const path = `/${escapePointer(keyword)}`;
    mapSubschemas(keyword, schema[keyword] ?? null, (inner, step) => {
      found.push({ path: path + step, schema: inner });
      return inner;
    });
  }
  return found;
}

/**
 * Maps each schema in a keyword's value. Returns the value itself if the keyword has no schemas.
 *
 * @param change Receives each schema and its JSON pointer within the value.
 */
export function mapSubschemas(
  keyword: string,
  value: JsonValue,
  change: (schema: JsonValue, path: string) => JsonValue,
): JsonValue {
  switch (DEFINITIONS.includes(keyword) ? "schema-map" : KEYWORDS.get(keyword)?.shape) {
    case "schema":
      return change(value, "");
    case "schema-list":
    case "schema-or-list":
      if (!Array.isArray(value)) return change(value, "");
      return value.map((item: JsonValue, index) => change(item, `/${index}`));
    case "schema-map":
    case "dependencies": {
      if (!isJsonObject(value)) return value;
      const members = Object.entries(value).map(([name, member]) => [
        name,
        // `dependencies` can also have lists of names.
        Array.isArray(member) ? member : change(member ?? true, `/${escapePointer(name)}`),
      ]);
      return Object.fromEntries(members) as JsonObject;
    }
    default:
      return value;
  }
}

/**
 * Returns a schema in which the order of `required`, `enum` and a list of types is fixed, since it has no meaning. Two
 * schemas that differ only there have the same canonical JSON.
 */
export function withFixedOrder(schema: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value = null]) => [
      keyword,
      isUnordered(keyword) && Array.isArray(value)
        ? [...value].sort(byText)
        : mapSubschemas(keyword, value, (inner) => (isJsonObject(inner) ? withFixedOrder(inner) : inner)),
    ]),
  );
}

function isUnordered(keyword: string): boolean {
  return keyword === "required" || keyword === "enum" || keyword === "type";
}

function byText(a: JsonValue, b: JsonValue): number {
  const [left, right] = [canonicalText(a), canonicalText(b)];
  return left < right ? -1 : left > right ? 1 : 0;
}
