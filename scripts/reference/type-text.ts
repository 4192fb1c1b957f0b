import { isJsonObject, type JsonObject, type JsonValue } from "../../src/json/value.ts";
import { alternatives, resolve } from "./schema-walk.ts";

const NAMES: Readonly<Record<string, string>> = {
  string: "text",
  boolean: "`true` or `false`",
  integer: "whole number",
  number: "number",
  null: "`null`",
};

/** Describes the values of a schema in a few words, such as `list of texts` or `whole number, at least 1`. */
export function typeText(given: JsonObject, definitions: JsonObject): string {
  const schema = resolve(given, definitions);
  const { title, const: only, enum: values, type } = schema;
  if (typeof title === "string") return `${title}${rangeText(schema)}`;
  if (only !== undefined) return code(only);
  if (Array.isArray(values)) return values.map(code).join(", ");
  const types = (Array.isArray(type) ? type : [type]).filter((each) => typeof each === "string");
  const others = alternatives(schema).map((each) => typeText(each, definitions));
  const own = types.map((name) => oneType(name, schema, definitions));
  const words = [...new Set([...own, ...others].flatMap((words) => words.split(" or ")))].filter(
    (each) => each !== "any value",
  );
  return words.length === 0 ? "any value" : words.join(" or ");
}

function oneType(name: string, schema: JsonObject, definitions: JsonObject): string {
  const { items, properties, additionalProperties } = schema;
  if (name === "array")
    return isJsonObject(items) ? `list of ${plural(typeText(items, definitions))}` : "list";
  if (name !== "object") return `${NAMES[name] ?? name}${rangeText(schema)}`;
  if (properties !== undefined || !isJsonObject(additionalProperties)) return "map";
  return `map of ${plural(typeText(additionalProperties, definitions))}`;
}

function plural(words: string): string {
  return words
    .split(" or ")
    .map((word) => word.replace(/^(text|path|map|whole number|duration|size|list)\b(?!s)/, "$1s"))
    .join(" or ");
}

function rangeText({ minimum, maximum }: JsonObject): string {
  const [least, most] = [bound(minimum), bound(maximum)];
  if (least !== undefined && most !== undefined) return ` from ${least} to ${most}`;
  if (least !== undefined) return `, at least ${least}`;
  return most === undefined ? "" : `, at most ${most}`;
}

/** A bound that says more than how many digits a number can have. */
function bound(value: JsonValue | undefined): string | undefined {
  const isMeant = typeof value === "number" && Math.abs(value) < Number.MAX_SAFE_INTEGER;
  return isMeant ? value.toLocaleString("en") : undefined;
}

function code(value: JsonValue): string {
  return `\`${typeof value === "string" ? value : JSON.stringify(value)}\``;
}
