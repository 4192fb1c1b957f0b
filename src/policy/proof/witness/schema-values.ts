import { lookUp, parsePointer } from "../../../json/pointer.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../json/value.ts";
import { regexTexts } from "./matching-texts.ts";

const MAX_DEPTH = 8;
/** The most schemas that are looked at for one value: a small schema can refer to itself many times. */
const MAX_SCHEMAS = 1_000;
const MAX_ITEMS = 16;
const TEXTS_OF_FORMATS: Readonly<Record<string, string>> = {
  uri: "https://example.com/",
  "uri-reference": "/a",
  email: "a@example.com",
  date: "2026-01-01",
  "date-time": "2026-01-01T00:00:00Z",
  time: "00:00:00Z",
  uuid: "00000000-0000-4000-8000-000000000000",
  ipv4: "192.0.2.1",
  hostname: "example.com",
};

/** How values are made up. */
interface Style {
  readonly root: JsonObject;
  readonly text: string;
  /** Whether members that may be missing are there. */
  readonly isFull: boolean;
  /** How many more schemas are looked at. */
  left: number;
}

/**
 * Makes up values that a JSON Schema most likely accepts: one with as few members as possible, and more with all of them. The
 * schema itself has to decide.
 */
export function schemaValues(root: JsonObject): readonly JsonValue[] {
  const styles = [
    { text: "a", isFull: false },
    { text: "a", isFull: true },
    { text: "https://example.com/", isFull: true },
  ];
  const values = styles.map((style) => make(root, { root, left: MAX_SCHEMAS, ...style }, 0));
  const texts = values.map((value) => JSON.stringify(value));
  return values.filter((_, index) => texts.indexOf(texts[index] ?? "") === index);
}

function make(schema: JsonValue | undefined, style: Style, depth: number): JsonValue {
  if (!isJsonObject(schema) || depth > MAX_DEPTH) return style.text;
  const whole = resolve(schema, style);
  if (whole["const"] !== undefined) return whole["const"];
  for (const name of ["enum", "examples"]) {
    const [first] = listOf(whole[name]);
    if (first !== undefined) return first;
  }
  if (whole["default"] !== undefined) return whole["default"];
  const type = typeOf(whole);
  if (type === "object") return makeObject(whole, style, depth);
  if (type === "array") return makeList(whole, style, depth);
  if (type === "number" || type === "integer") return makeNumber(whole, type === "integer");
  if (type === "boolean") return false;
  return type === "null" ? null : makeText(whole, style);
}

/** A schema with what its reference and its parts say, the first of each choice. */
function resolve(schema: JsonObject, style: Style, depth = 0): JsonObject {
  if (depth > MAX_DEPTH || style.left-- <= 0) return {};
  const { $ref, allOf, anyOf, oneOf, ...own } = schema;
  const found =
    typeof $ref === "string" && $ref.startsWith("#") ? lookUp(style.root, parsePointer($ref.slice(1))) : {};
  const parts = [
    typeof found === "symbol" ? {} : found,
    ...listOf(allOf),
    listOf(anyOf)[0],
    listOf(oneOf)[0],
  ];
  let whole: JsonObject = own;
  for (const part of parts) if (isJsonObject(part)) whole = join(whole, resolve(part, style, depth + 1));
  return whole;
}

function join(one: JsonObject, other: JsonObject): JsonObject {
  const required = [...listOf(one["required"]), ...listOf(other["required"])];
  const properties = { ...objectOf(other["properties"]), ...objectOf(one["properties"]) };
  return {
    ...other,
    ...one,
    ...(required.length > 0 && { required }),
    ...(Object.keys(properties).length > 0 && { properties }),
  };
}

function typeOf({ type, properties, required, items }: JsonObject): JsonValue | undefined {
  const types = type === undefined || Array.isArray(type) ? listOf(type) : [type];
  if (types.length > 0) return types.find((each) => each !== "null") ?? "null";
  if (properties !== undefined || required !== undefined) return "object";
  return items === undefined ? undefined : "array";
}

function makeObject({ properties, required }: JsonObject, style: Style, depth: number): JsonObject {
  const known = objectOf(properties);
  const names = [...listOf(required).filter((name) => typeof name === "string")];
  if (style.isFull) names.push(...Object.keys(known));
  return Object.fromEntries(names.map((name) => [name, make(known[name], style, depth + 1)]));
}

function makeList({ items, prefixItems, minItems = 0 }: JsonObject, style: Style, depth: number): JsonValue {
  const first = listOf(prefixItems ?? items).slice(0, MAX_ITEMS);
  const count = Math.max(first.length, Math.min(Number(minItems), MAX_ITEMS), style.isFull ? 1 : 0);
  return Array.from({ length: count }, (_, index) => make(first[index] ?? items, style, depth + 1));
}

function makeNumber(schema: JsonObject, isInteger: boolean): number {
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum, multipleOf } = schema;
  const step = typeof multipleOf === "number" ? multipleOf : isInteger ? 1 : 0.5;
  const least = typeof minimum === "number" ? minimum : undefined;
  const above = typeof exclusiveMinimum === "number" ? exclusiveMinimum + step : undefined;
  const most = typeof maximum === "number" ? maximum : undefined;
  const below = typeof exclusiveMaximum === "number" ? exclusiveMaximum - step : undefined;
  const number = least ?? above ?? Math.min(most ?? 0, below ?? 0, 0);
  return isInteger ? Math.ceil(number / step) * step : number;
}

function makeText({ pattern, format, minLength = 0, maxLength }: JsonObject, { text }: Style): string {
  if (typeof pattern === "string") return regexTexts(pattern)[0] ?? text;
  const wanted = (typeof format === "string" ? TEXTS_OF_FORMATS[format] : undefined) ?? text;
  const long = wanted.padEnd(Math.min(Number(minLength), 4_096), "a");
  return typeof maxLength === "number" ? long.slice(0, maxLength) : long;
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

function objectOf(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}
