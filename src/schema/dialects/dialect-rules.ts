import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import { type Draft, KEYWORDS } from "../keywords.ts";

/** A schema that is being rewritten. */
export type OpenSchema = Record<string, JsonValue | undefined>;

/** Rewrites a keyword that JSON Schema does not have, or defines differently. */
export interface DialectRule {
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

/** Reads a boolean, or a string that means one; `undefined` for everything else. */
export function asFlag(value: JsonValue | undefined): boolean | undefined {
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
