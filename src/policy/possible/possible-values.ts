import { LIST_INDEX, lookUp, parsePointer } from "../../json/pointer.ts";
import { equalJson, isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import { compilePattern } from "../../patterns/pattern.ts";
import { hasFormat } from "./possible-texts.ts";

/**
 * What values a place can have: those that all schemas of one of these lists accept. No list means that there can be no value, and
 * an empty list that there can be any. Keywords that are not evaluated count as if they were not there, so that there may be
 * fewer values, and never more.
 */
export type PossibleValues = readonly (readonly JsonObject[])[];

const ANY: PossibleValues = [[]];
const NONE: PossibleValues = [];
const MAX_ALTERNATIVES = 64;
const MAX_DEPTH = 16;

/** The shapes of principals and sessions, in which attributes are up to whatever authenticates callers. */
export const ROOTS: Readonly<Record<"principal" | "session", JsonObject>> = {
  principal: {
    type: "object",
    required: ["id", "kind"],
    additionalProperties: false,
    properties: {
      id: { type: "string", minLength: 1 },
      kind: { enum: ["user", "agent", "service"] },
      roles: { type: "array", items: { type: "string" } },
      attributes: { type: "object" },
    },
  },
  session: {
    type: "object",
    required: ["id"],
    additionalProperties: false,
    properties: { id: { type: "string" } },
  },
};

/** What the engine requires of a declared URL. */
export const WEB_URL: JsonObject = { type: "string", pattern: "^[hH][tT][tT][pP][sS]?://[^/?#]" };

/** Finds what values a schema accepts. */
export function valuesOf(root: JsonObject, schema: JsonValue | undefined = root, depth = 0): PossibleValues {
  if (schema === false) return NONE;
  if (!isJsonObject(schema) || depth > MAX_DEPTH) return ANY;
  const { $ref, allOf, anyOf, oneOf, ...own } = schema;
  // In draft 7, what is beside a reference is ignored.
  let found: PossibleValues = $ref !== undefined && isDraft7(root) ? ANY : [[own]];
  if ($ref !== undefined) found = both(found, valuesOf(root, target(root, $ref), depth + 1));
  for (const part of listOf(allOf)) found = both(found, valuesOf(root, part, depth + 1));
  for (const choices of [anyOf, oneOf]) {
    if (!Array.isArray(choices)) continue;
    found = both(
      found,
      choices.flatMap((choice: JsonValue) => [...valuesOf(root, choice, depth + 1)]),
    );
  }
  return found;
}

function isDraft7({ $schema }: JsonObject): boolean {
  return typeof $schema === "string" && $schema.includes("draft-07");
}

/** Finds the schema of a reference within the schema; any value if it is elsewhere. */
function target(root: JsonObject, reference: JsonValue): JsonValue {
  if (typeof reference !== "string" || !/^#(?:\/|$)/.test(reference)) return true;
  const found = lookUp(root, parsePointer(reference.slice(1)));
  return typeof found === "symbol" ? true : found;
}

function both(some: PossibleValues, others: PossibleValues): PossibleValues {
  if (some.length * others.length > MAX_ALTERNATIVES) return ANY;
  return some.flatMap((one) => others.map((other) => [...one, ...other]));
}

/** Finds what values a member or item can have; `*` stands for every item. */
export function valuesAt(root: JsonObject, values: PossibleValues, step: string): PossibleValues {
  const found = values.flatMap((schemas) => {
    let member: PossibleValues = ANY;
    for (const schema of schemas) member = both(member, memberValues(root, schema, step));
    return member;
  });
  return found.length > MAX_ALTERNATIVES ? ANY : found;
}

function memberValues(root: JsonObject, schema: JsonObject, step: string): PossibleValues {
  const { properties, patternProperties, additionalProperties } = schema;
  const isItem = step === "*" || LIST_INDEX.test(step);
  const [canBeObject, canBeList] = [
    step !== "*" && allows(schema, "object"),
    isItem && allows(schema, "array"),
  ];
  if (canBeObject && canBeList) return ANY;
  if (canBeList) return itemValues(root, schema, step);
  if (!canBeObject) return NONE;
  if (isJsonObject(properties) && Object.hasOwn(properties, step)) return valuesOf(root, properties[step]);
  return patternProperties === undefined ? valuesOf(root, additionalProperties ?? true) : ANY;
}

/** In draft 7, `items` can be a list, with the meaning that `prefixItems` has since draft 2020-12. */
function itemValues(root: JsonObject, schema: JsonObject, step: string): PossibleValues {
  const { prefixItems, items, additionalItems, maxItems } = schema;
  const [first, rest = true] = Array.isArray(items) ? [items, additionalItems] : [listOf(prefixItems), items];
  if (step !== "*") {
    if (typeof maxItems === "number" && Number(step) >= maxItems) return NONE;
    return valuesOf(root, first[Number(step)] ?? rest);
  }
  if (maxItems === 0) return NONE;
  const each = [...first, ...(typeof maxItems === "number" && maxItems <= first.length ? [] : [rest])];
  const all = each.flatMap((item) => [...valuesOf(root, item)]);
  return all.length > MAX_ALTERNATIVES ? ANY : all;
}

export type TypeName = "null" | "boolean" | "number" | "string" | "array" | "object";

/** Whether a schema accepts some value of a type. */
function allows({ type, enum: all, const: only }: JsonObject, name: TypeName): boolean {
  const values =
    only === undefined ? (Array.isArray(all) ? (all as readonly JsonValue[]) : undefined) : [only];
  if (values !== undefined && !values.some((value) => typeOf(value) === name)) return false;
  if (type === undefined) return true;
  return [type].flat().some((each) => each === name || (each === "integer" && name === "number"));
}

/** Whether some value can have one of these types. */
export function canBe(values: PossibleValues, ...names: readonly TypeName[]): boolean {
  return values.some((schemas) => names.some((name) => schemas.every((schema) => allows(schema, name))));
}

function typeOf(value: JsonValue): TypeName {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : (typeof value as TypeName);
}

/** Returns all values, if they are few: those of `enum`, `const`, and truth values. */
export function fewValues(root: JsonObject, values: PossibleValues): readonly JsonValue[] | undefined {
  const found: JsonValue[] = [];
  for (const schemas of values) {
    const listed = schemas.map(listedIn).find((list) => list !== undefined);
    if (listed !== undefined) found.push(...listed);
    else if (["string", "number", "array", "object"].some((name) => canBe([schemas], name as TypeName)))
      return undefined;
    else found.push(null, true, false);
  }
  return found.filter((value) => accepts(root, values, value));
}

/** Returns the values that schemas list, of which they may not accept all. */
export function listedValues(values: PossibleValues): readonly JsonValue[] {
  return values.flatMap((schemas) => schemas.flatMap((schema) => listedIn(schema) ?? []));
}

function listedIn({ enum: all, const: only }: JsonObject): readonly JsonValue[] | undefined {
  if (only !== undefined) return [only];
  return Array.isArray(all) ? (all as readonly JsonValue[]) : undefined;
}

/** Whether a value may be one of them: certainly not if this is `false`. */
export function accepts(root: JsonObject, values: PossibleValues, value: JsonValue, depth = 0): boolean {
  return values.some((schemas) => {
    if (!schemas.every((schema) => acceptsValue(schema, value))) return false;
    if (depth > MAX_DEPTH || typeof value !== "object" || value === null) return true;
    return Object.entries(value).every(([step, member]) => {
      if (member === undefined) return true;
      const inner = valuesAt(root, [schemas.map(ofType(value))], step);
      return accepts(root, inner, member as JsonValue, depth + 1);
    });
  });
}

/** The schema as it is for values of one type, so that an index is not taken for a name. */
function ofType(value: object): (schema: JsonObject) => JsonObject {
  const type = Array.isArray(value) ? "array" : "object";
  return ({ enum: _, const: __, ...schema }) => ({ ...schema, type });
}

function acceptsValue(schema: JsonObject, value: JsonValue): boolean {
  const listed = listedIn(schema);
  if (listed !== undefined && !listed.some((each) => equalJson(each, value))) return false;
  if (!allows({ ...schema, enum: null, const: undefined }, typeOf(value))) return false;
  if (typeof value === "string") return acceptsText(schema, value);
  if (typeof value === "number") return acceptsNumber(schema, value);
  if (typeof value !== "object" || value === null) return true;
  const { required, minItems = 0, maxItems = Number.POSITIVE_INFINITY } = schema;
  if (Array.isArray(value)) return Number(minItems) <= value.length && value.length <= Number(maxItems);
  return listOf(required).every((name) => Object.hasOwn(value, String(name)));
}

function acceptsText({ minLength, maxLength, pattern, format }: JsonObject, text: string): boolean {
  const length = [...text].length;
  if (typeof minLength === "number" && length < minLength) return false;
  if (typeof maxLength === "number" && length > maxLength) return false;
  if (!hasFormat(format, text)) return false;
  if (typeof pattern !== "string") return true;
  try {
    return compilePattern(pattern).test(text);
  } catch {
    return true;
  }
}

function acceptsNumber(schema: JsonObject, value: number): boolean {
  if (isInteger(schema) && !Number.isInteger(value)) return false;
  const { least, most } = boundsOf(schema);
  const { exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  const isWhole = Number.isInteger(multipleOf) && Number.isInteger(value);
  if (isWhole && value % Number(multipleOf) !== 0) return false;
  return least <= value && value <= most && value !== exclusiveMinimum && value !== exclusiveMaximum;
}

function boundsOf(schema: JsonObject): { readonly least: number; readonly most: number } {
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum } = schema;
  const numbers = (all: readonly (JsonValue | undefined)[]): number[] =>
    all.filter((each) => typeof each === "number");
  return {
    least: Math.max(Number.NEGATIVE_INFINITY, ...numbers([minimum, exclusiveMinimum])),
    most: Math.min(Number.POSITIVE_INFINITY, ...numbers([maximum, exclusiveMaximum])),
  };
}

function isInteger({ type }: JsonObject): boolean {
  const types = [type].flat();
  return types.includes("integer") && !types.includes("number");
}

/**
 * Returns numbers of which one meets a condition if any number that the schemas accept does.
 *
 * @param bounds All numbers with which the condition compares.
 */
export function numbersBetween(values: PossibleValues, bounds: readonly number[]): readonly number[] {
  return values.flatMap((schemas) => {
    if (!canBe([schemas], "number")) return [];
    const own = schemas.map(boundsOf).flatMap(({ least, most }) => [least, most]);
    const ends = [...bounds, ...own, 0].filter(Number.isFinite).sort((one, other) => one - other);
    const steps = schemas.flatMap(({ multipleOf }) => (typeof multipleOf === "number" ? [multipleOf] : []));
    const all = [1, ...steps, steps.reduce((one, other) => one * other, 1)];
    return ends.flatMap((end, index) => [
      end,
      (end + (ends[index + 1] ?? end)) / 2,
      ...all.flatMap((step) => {
        const below = Math.floor(end / step) * step;
        return [below - step, below, below + step, below + 2 * step];
      }),
    ]);
  });
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [];
}
