import { isJsonObject, type JsonValue } from "../../json/value.ts";
import { JSON_TYPES, type KeywordShape } from "../keywords.ts";

/** Returns why a value does not have the shape of its keyword; `undefined` if it does. Subschemas are not checked. */
export function unfitValue(shape: KeywordShape, value: JsonValue): string | undefined {
  switch (shape) {
    case "schema":
      return isSchema(value) ? undefined : "must be a schema: an object or a boolean";
    case "schema-list":
      return Array.isArray(value) && value.length > 0 ? undefined : "must be a list of schemas";
    case "schema-or-list":
      return isSchema(value) || Array.isArray(value) ? undefined : "must be a schema or a list of schemas";
    case "schema-map":
    case "dependencies":
      return isJsonObject(value) ? undefined : "must be an object whose members are schemas";
    case "names-map": {
      const isMap = isJsonObject(value) && Object.values(value).every(isNames);
      return isMap ? undefined : "must be an object whose members are lists of names";
    }
    case "number":
      return typeof value === "number" ? undefined : "must be a number";
    case "positive-number":
      return typeof value === "number" && value > 0 ? undefined : "must be a number above 0";
    case "count":
      return Number.isInteger(value) && Number(value) >= 0 ? undefined : "must be a non-negative integer";
    case "flag":
      return typeof value === "boolean" ? undefined : "must be true or false";
    case "format":
    case "pattern":
    case "reference":
      return typeof value === "string" ? undefined : "must be a string";
    case "names":
      return isNames(value) ? undefined : "must be a list of names";
    case "values":
      return Array.isArray(value) ? undefined : "must be a list of values";
    case "types":
      return unfitTypes(value);
    case "value":
      return undefined;
  }
}

/** Returns whether a value can be a schema: an object or a boolean. */
export function isSchema(value: JsonValue | undefined): boolean {
  return typeof value === "boolean" || isJsonObject(value);
}

function isNames(value: JsonValue | undefined): boolean {
  return Array.isArray(value) && value.every((name) => typeof name === "string");
}

function unfitTypes(value: JsonValue): string | undefined {
  const types = Array.isArray(value) ? value : [value];
  if (types.length === 0) return "must name at least one type";
  const unknown = types.find((type) => !JSON_TYPES.includes(type));
  if (unknown === undefined) return undefined;
  const shown = typeof unknown === "string" ? `'${unknown.slice(0, 64)}'` : "a value that is not a string";
  return `must be one of ${JSON_TYPES.join(", ")}, not ${shown} (normalizeSchema maps other dialects' types)`;
}
