import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";

/** The counts that providers limit in schemas. */
export interface SchemaSize {
  readonly properties: number;
  readonly enumValues: number;
  /** Characters of names and enum values. */
  readonly text: number;
  /** Properties that are not required. */
  readonly optional: number;
  /** Schemas with several types or alternatives. */
  readonly unions: number;
}

const NAMES: Readonly<Record<keyof SchemaSize, string>> = {
  properties: "properties",
  enumValues: "enum values",
  text: "characters in names and enum values",
  optional: "optional properties",
  unions: "unions",
};

/** No limits. */
export const UNLIMITED: SchemaSize = {
  properties: Number.POSITIVE_INFINITY,
  enumValues: Number.POSITIVE_INFINITY,
  text: Number.POSITIVE_INFINITY,
  optional: Number.POSITIVE_INFINITY,
  unions: Number.POSITIVE_INFINITY,
};

/** Measures a strict schema. */
export function measureSchema(schema: JsonObject): SchemaSize {
  const properties = Object.entries(membersOf(schema["properties"]));
  const definitions = Object.entries(membersOf(schema["$defs"]));
  const values = listOf(schema["enum"]);
  const required = listOf(schema["required"]);
  const alternatives = listOf(schema["anyOf"]);
  const texts = [...properties, ...definitions].map(([name]) => name);
  const own: SchemaSize = {
    properties: properties.length,
    enumValues: values.length,
    text: [...texts, ...values].reduce<number>((sum, text) => sum + String(text).length, 0),
    optional: properties.filter(([name]) => !required.includes(name)).length,
    unions: alternatives.length > 0 || listOf(schema["type"]).length > 1 ? 1 : 0,
  };
  const children = [...properties, ...definitions].map(([, child]) => child);
  return [...children, ...alternatives, schema["items"]].reduce<SchemaSize>(
    (sum, child) => (isJsonObject(child) ? addSizes(sum, measureSchema(child)) : sum),
    own,
  );
}

/** Adds two sizes. */
export function addSizes(a: SchemaSize, b: SchemaSize): SchemaSize {
  return {
    properties: a.properties + b.properties,
    enumValues: a.enumValues + b.enumValues,
    text: a.text + b.text,
    optional: a.optional + b.optional,
    unions: a.unions + b.unions,
  };
}

/** Returns the first count that exceeds its limit, as text; `undefined` if there is none. */
export function findExcess(size: SchemaSize, limit: SchemaSize): string | undefined {
  const name = (Object.keys(NAMES) as (keyof SchemaSize)[]).find((key) => size[key] > limit[key]);
  return name === undefined ? undefined : `more than ${limit[name]} ${NAMES[name]}`;
}

function membersOf(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}
