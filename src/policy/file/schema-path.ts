import { LIST_INDEX, lookUp, parsePointer } from "../../json/pointer.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";

/**
 * What a schema says about the location of a pointer: which values are valid there (`known`), nothing
 * (`open`), or that no valid value has anything there (`impossible`). `names` are the members that the schema
 * lists at the step that it does not describe.
 */
export type SchemaPlace =
  | { readonly kind: "known"; readonly schema: JsonValue }
  | { readonly kind: "open" | "impossible"; readonly names: readonly string[] };

/**
 * Keywords that affect members in ways that are not evaluated here: in a schema with one, no member is
 * impossible.
 */
const UNDECIDED = [
  "$ref",
  "$dynamicRef",
  "$recursiveRef",
  "allOf",
  "anyOf",
  "oneOf",
  "not",
  "if",
  "dependentSchemas",
  "dependencies",
  "patternProperties",
  "unevaluatedProperties",
  "unevaluatedItems",
  "enum",
  "const",
];
/** Keywords beside a `$ref` that do not restrict values. */
const ANNOTATIONS = [
  "$ref",
  "$schema",
  "$id",
  "$defs",
  "definitions",
  "$comment",
  "title",
  "description",
  "default",
];
const MAX_REFERENCES = 32;

/**
 * Finds what a JSON schema says about the value at a pointer, by `properties`, `items`, `prefixItems`,
 * `additionalProperties` and references within the schema. If these keywords do not decide it, the location
 * is open.
 */
export function findInSchema(root: JsonObject, steps: readonly string[]): SchemaPlace {
  let schema = follow(root, root);
  for (const step of steps) {
    const properties = isJsonObject(schema) ? schema["properties"] : undefined;
    const names = isJsonObject(properties) ? Object.keys(properties) : [];
    const member = isJsonObject(schema) ? memberSchema(schema, step) : undefined;
    schema = follow(root, member);
    if (schema === undefined) return { kind: "open", names };
    if (schema === false) return { kind: "impossible", names };
  }
  return schema === undefined ? { kind: "open", names: [] } : { kind: "known", schema };
}

/**
 * Returns the schema of a member or item; `false` if there can be none, `undefined` if the schema does not
 * say.
 */
function memberSchema(schema: JsonObject, step: string): JsonValue | undefined {
  const { properties, additionalProperties, type } = schema;
  if (isJsonObject(properties) && Object.hasOwn(properties, step)) return properties[step];
  if (UNDECIDED.some((keyword) => Object.hasOwn(schema, keyword))) return undefined;
  const allows = (name: string): boolean => type === undefined || [type].flat().includes(name);
  const canBeList = LIST_INDEX.test(step) && allows("array");
  if (!allows("object")) return canBeList ? itemSchema(schema, Number(step)) : false;
  return canBeList ? undefined : additionalProperties;
}

/** In draft 7, `items` can be a list, with the meaning that `prefixItems` has since draft 2020-12. */
function itemSchema(
  { prefixItems, items, additionalItems }: JsonObject,
  index: number,
): JsonValue | undefined {
  const [first, rest] = Array.isArray(items) ? [items, additionalItems] : [prefixItems, items];
  return Array.isArray(first) && index < first.length ? first[index] : rest;
}

/**
 * Resolves the `$ref` of a schema; `undefined` if it leaves the root schema, is circular or has no target.
 */
function follow(root: JsonObject, schema: JsonValue | undefined): JsonValue | undefined {
  let current = schema;
  for (let i = 0; i < MAX_REFERENCES; i++) {
    if (!isJsonObject(current) || !Object.hasOwn(current, "$ref")) return current;
    if (!Object.keys(current).every((keyword) => ANNOTATIONS.includes(keyword))) return current;
    const reference = current["$ref"];
    if (typeof reference !== "string" || !/^#(?:\/|$)/.test(reference)) return undefined;
    const target = lookUp(root, parsePointer(reference.slice(1)));
    current = typeof target === "symbol" ? undefined : target;
  }
  return undefined;
}
