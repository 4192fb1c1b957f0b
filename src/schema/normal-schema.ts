import { canonicalText } from "../json/canonical.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/value.ts";
import { mapSubschemas } from "./subschemas.ts";

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
