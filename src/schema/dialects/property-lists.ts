import { escapePointer } from "../../json/pointer.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import { DEFINITIONS, type Draft, KEYWORDS } from "../keywords.ts";
import type { SchemaProblem } from "../schema-error.ts";

/** A schema that is being rewritten. */
export type OpenSchema = Record<string, JsonValue | undefined>;

/** Rewrites a keyword that JSON Schema does not have, or defines differently. */
interface DialectRule {
  /** The rule applies to schemas that have this keyword. */
  readonly keyword: string;
  /**
   * Returns the members to set; `undefined` if there is nothing to rewrite. A member that is `undefined` is removed.
   */
  rewrite(value: JsonValue, schema: Readonly<OpenSchema>, draft: Draft): OpenSchema | undefined;
}

const rule = (keyword: string, rewrite: DialectRule["rewrite"]): DialectRule => ({ keyword, rewrite });

const COUNTS: readonly string[] = [...KEYWORDS].flatMap(([name, { shape }]) =>
  shape === "count" ? [name] : [],
);

const NUMBERS: readonly string[] = ["minimum", "maximum", "multipleOf"];

/** The keywords under which catalogues list the values of an `enum`. */
const ENUM_VALUES: readonly string[] = ["values", "options", "choices", "enumValues"];

/** All rules except those for types, in order. No rule changes valid JSON Schema. */
export const DIALECT_RULES: readonly DialectRule[] = [
  // OpenAPI 3.0, Gemini.
  rule("nullable", (value, schema) =>
    asFlag(value) === true ? { nullable: undefined, ...withNull(schema) } : undefined,
  ),
  rule("example", (value, schema) => ({ example: undefined, examples: schema["examples"] ?? [value] })),
  rule("example_value", (value, schema) => ({
    example_value: undefined,
    examples: schema["examples"] ?? [value],
  })),
  // Draft 4.
  rule("exclusiveMinimum", (value, schema) => exclusive(value, schema, "exclusiveMinimum", "minimum")),
  rule("exclusiveMaximum", (value, schema) => exclusive(value, schema, "exclusiveMaximum", "maximum")),
  // Draft 3.
  rule("divisibleBy", (value) => ({ divisibleBy: undefined, multipleOf: value })),
  // Drafts up to 2019-09, without a `$schema` that names them.
  rule("items", (value, schema, draft) => {
    if (draft === "draft-07" || !Array.isArray(value)) return undefined;
    const rest = schema["additionalItems"];
    const first = value.length > 0 ? value : undefined;
    return { prefixItems: first, items: rest, additionalItems: undefined };
  }),
  rule("dependencies", (value, _schema, draft) => {
    if (draft === "draft-07" || !isJsonObject(value)) return undefined;
    const entries = Object.entries(value);
    const names = entries.filter(([, needed]) => Array.isArray(needed));
    const schemas = entries.filter(([, needed]) => !Array.isArray(needed));
    return {
      dependencies: undefined,
      ...(names.length > 0 && { dependentRequired: Object.fromEntries(names) as JsonObject }),
      ...(schemas.length > 0 && { dependentSchemas: Object.fromEntries(schemas) as JsonObject }),
    };
  }),
  // Gemini serialises 64-bit integers as strings.
  ...[...COUNTS, ...NUMBERS].map((keyword) =>
    rule(keyword, (value) => {
      const isNumber = typeof value === "string" && /^-?\d+(?:\.\d+)?$/.test(value);
      return isNumber ? { [keyword]: Number(value) } : undefined;
    }),
  ),
  // The values of an enumeration under another keyword.
  ...ENUM_VALUES.map((keyword) =>
    rule(keyword, (value, schema) => {
      const isEnum = typeof schema["type"] === "string" && /^(?:enum|choice)$/i.test(schema["type"]);
      return isEnum && schema["enum"] === undefined && Array.isArray(value)
        ? { enum: value, [keyword]: undefined }
        : undefined;
    }),
  ),
];

/** The changes of a schema's `properties` and `required`. */
interface PropertyChange {
  readonly members: OpenSchema;
  readonly changes: readonly {
    readonly path: string;
    readonly from: JsonValue | undefined;
    readonly to: JsonValue | undefined;
  }[];
  readonly problems: readonly SchemaProblem[];
}

/** Annotations that also identify an object as a schema. */
const ANNOTATIONS: readonly string[] = [
  "$schema",
  "$id",
  "$comment",
  "title",
  "description",
  "default",
  "examples",
  "deprecated",
  "readOnly",
  "writeOnly",
];
/** The members under which catalogues list the required and the optional parameters. */
const REQUIRED_LIST = "required_parameters";
const OPTIONAL_LIST = "optional_parameters";

/**
 * Returns the object schema that is meant by a list of properties, by two lists of them, or by a map of properties
 * without a schema around it. Everything else is returned as it is.
 */
export function rootObject(given: JsonValue): JsonValue {
  if (Array.isArray(given)) return { type: "object", properties: given };
  if (!isJsonObject(given)) return given;
  const names = Object.keys(given);
  const { [REQUIRED_LIST]: needed = [], [OPTIONAL_LIST]: others = [], ...rest } = given;
  if (
    (names.includes(REQUIRED_LIST) || names.includes(OPTIONAL_LIST)) &&
    Array.isArray(needed) &&
    Array.isArray(others)
  ) {
    const isNeeded = (item: JsonValue): JsonValue =>
      isJsonObject(item) ? { ...item, required: true } : item;
    return { type: "object", ...rest, properties: [...needed.map(isNeeded), ...others] };
  }
  const areProperties = Object.values(given).every(
    (member) => isJsonObject(member) && typeof member["type"] === "string",
  );
  return hasKeyword(names) || names.length === 0 || !areProperties
    ? given
    : { type: "object", properties: given };
}

/** Returns whether an object has members, but no schema keyword: as a schema it would accept everything. */
export function saysNothing(root: JsonValue): boolean {
  const names = isJsonObject(root) ? Object.keys(root) : [];
  return names.length > 0 && !hasKeyword(names);
}

function hasKeyword(names: readonly string[]): boolean {
  return names.some(
    (name) =>
      KEYWORDS.has(name) ||
      DEFINITIONS.includes(name) ||
      ANNOTATIONS.includes(name) ||
      DIALECT_RULES.some(({ keyword }) => keyword === name),
  );
}

/**
 * Turns a list of `properties` into a map, and adds to `required` the names of properties that have `required: true`
 * or `optional: false`.
 */
export function propertiesOf(schema: Readonly<OpenSchema>): PropertyChange {
  const changes: { path: string; from: JsonValue | undefined; to: JsonValue | undefined }[] = [];
  const problems: SchemaProblem[] = [];
  const members: OpenSchema = {};
  const required = new Set<string>();
  const { properties, required: given } = schema;
  // Whether the schema itself is required was handled with its parent.
  if (given !== undefined && !Array.isArray(given)) {
    if (asFlag(given) === undefined) problems.push({ path: "/required", reason: "must be a list of names" });
    drop(members, "required", given);
  }
  if (schema["optional"] !== undefined) drop(members, "optional", schema["optional"]);
  const named = Array.isArray(properties) ? namedProperties(properties, problems) : properties;
  if (named !== properties && properties !== undefined)
    changes.push({ path: "/properties", from: properties, to: named });
  if (isJsonObject(named)) {
    const own: Record<string, JsonValue> = {};
    for (const [name, property] of Object.entries(named)) {
      own[name] = property ?? true;
      if (!isJsonObject(property)) continue;
      const isRequired = asFlag(property["required"]) ?? not(asFlag(property["optional"]));
      if (isRequired === true) required.add(name);
    }
    members["properties"] = own;
  }
  const listed = Array.isArray(given) ? (given as readonly JsonValue[]) : [];
  const added = [...required].filter((name) => !listed.includes(name));
  if (added.length > 0) {
    members["required"] = [...listed, ...added];
    changes.push({ path: "/required", from: given, to: members["required"] });
  }
  return { members, changes, problems };

  function drop(from: OpenSchema, keyword: string, value: JsonValue): void {
    from[keyword] = undefined;
    changes.push({ path: `/${escapePointer(keyword)}`, from: value, to: undefined });
  }
}

function namedProperties(list: readonly JsonValue[], problems: SchemaProblem[]): JsonObject {
  const named: Record<string, JsonValue> = {};
  for (const [index, item] of list.entries()) {
    const path = `/properties/${index}`;
    const { name, ...property } = isJsonObject(item) ? item : {};
    if (typeof name !== "string" || name === "") problems.push({ path, reason: "the property has no name" });
    else if (Object.hasOwn(named, name))
      problems.push({ path, reason: `duplicate property '${name.slice(0, 64)}'` });
    else named[name] = property as JsonObject;
  }
  return named;
}

function not(flag: boolean | undefined): boolean | undefined {
  return flag === undefined ? undefined : !flag;
}

/** Reads a boolean, or a string that means one; `undefined` for everything else. */
function asFlag(value: JsonValue | undefined): boolean | undefined {
  if (typeof value === "boolean") return value;
  if (typeof value !== "string") return undefined;
  if (/^(?:true|yes|y|required)$/i.test(value)) return true;
  return /^(?:false|no|n|optional)$/i.test(value) ? false : undefined;
}

function exclusive(
  value: JsonValue,
  schema: Readonly<OpenSchema>,
  keyword: string,
  bound: string,
): OpenSchema | undefined {
  if (typeof value !== "boolean") return undefined;
  if (!value) return { [keyword]: undefined };
  return { [keyword]: schema[bound], [bound]: undefined };
}

/** Returns the changes that make a schema accept `null`. */
function withNull({ type, enum: values, anyOf, ...others }: Readonly<OpenSchema>): OpenSchema {
  const change: OpenSchema = {};
  if (typeof type === "string") change["type"] = [type, "null"];
  else if (Array.isArray(type)) change["type"] = [...type.filter((one) => one !== "null"), "null"];
  if (Array.isArray(values) && !values.includes(null)) change["enum"] = [...values, null];
  if (Array.isArray(anyOf)) change["anyOf"] = [...anyOf, { type: "null" }];
  // A reference or combination becomes one of two alternatives.
  const moved = ["$ref", "allOf", "oneOf"].filter((keyword) => others[keyword] !== undefined);
  if (type !== undefined || anyOf !== undefined || moved.length === 0) return change;
  const alternative = Object.fromEntries(moved.map((keyword) => [keyword, others[keyword]])) as JsonObject;
  for (const keyword of moved) change[keyword] = undefined;
  return { ...change, anyOf: [alternative, { type: "null" }] };
}
