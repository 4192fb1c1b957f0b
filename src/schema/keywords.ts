/** The drafts of JSON Schema that are compiled. Drafts 4 and 6 are treated as 7, and 2019-09 as 2020-12. */
export type Draft = "draft-07" | "2020-12";

/** The kind of value that a keyword takes. */
export type KeywordShape =
  /** A schema; a non-empty list of schemas; an object of schemas. */
  | "schema"
  | "schema-list"
  | "schema-map"
  /** Draft 7: a schema or a list of them; an object of schemas or lists of names. */
  | "schema-or-list"
  | "dependencies"
  | "number"
  | "positive-number"
  | "count"
  | "flag"
  | "format"
  | "pattern"
  | "names"
  | "names-map"
  | "types"
  | "values"
  | "value"
  | "reference";

/** A keyword that affects whether a value is valid. */
export interface Keyword {
  readonly shape: KeywordShape;
  /** Whether its schemas apply to the value itself, not to a part of it. */
  readonly inPlace: boolean;
  /** The only draft that has the keyword. Default: both. */
  readonly draft?: Draft;
}

const applied = (shape: KeywordShape, draft?: Draft): Keyword => keyword(shape, true, draft);
const keyword = (shape: KeywordShape, inPlace = false, draft?: Draft): Keyword => ({
  shape,
  inPlace,
  ...(draft !== undefined && { draft }),
});

/** Every keyword that affects validity. All other keywords are annotations. */
export const KEYWORDS: ReadonlyMap<string, Keyword> = new Map(
  Object.entries({
    $ref: applied("reference"),
    $dynamicRef: applied("reference", "2020-12"),
    $recursiveRef: applied("reference", "2020-12"),
    type: keyword("types"),
    enum: keyword("values"),
    const: keyword("value"),
    multipleOf: keyword("positive-number"),
    maximum: keyword("number"),
    exclusiveMaximum: keyword("number"),
    minimum: keyword("number"),
    exclusiveMinimum: keyword("number"),
    maxLength: keyword("count"),
    minLength: keyword("count"),
    pattern: keyword("pattern"),
    format: keyword("format"),
    maxItems: keyword("count"),
    minItems: keyword("count"),
    uniqueItems: keyword("flag"),
    maxContains: keyword("count", false, "2020-12"),
    minContains: keyword("count", false, "2020-12"),
    contains: keyword("schema"),
    prefixItems: keyword("schema-list", false, "2020-12"),
    items: keyword("schema-or-list"),
    additionalItems: keyword("schema", false, "draft-07"),
    unevaluatedItems: keyword("schema", false, "2020-12"),
    maxProperties: keyword("count"),
    minProperties: keyword("count"),
    required: keyword("names"),
    properties: keyword("schema-map"),
    patternProperties: keyword("schema-map"),
    additionalProperties: keyword("schema"),
    unevaluatedProperties: keyword("schema", false, "2020-12"),
    propertyNames: keyword("schema"),
    dependentRequired: keyword("names-map", false, "2020-12"),
    dependentSchemas: applied("schema-map", "2020-12"),
    dependencies: applied("dependencies", "draft-07"),
    allOf: applied("schema-list"),
    anyOf: applied("schema-list"),
    oneOf: applied("schema-list"),
    not: applied("schema"),
    if: applied("schema"),
    // biome-ignore lint/suspicious/noThenProperty: the keyword's name
    then: applied("schema"),
    else: applied("schema"),
  }),
);

/** Keywords whose schemas are only targets of references. */
export const DEFINITIONS: readonly string[] = ["$defs", "definitions"];

/** The types of JSON, and `integer`. */
export const JSON_TYPES: readonly string[] = [
  "null",
  "boolean",
  "object",
  "array",
  "number",
  "integer",
  "string",
];

const DRAFT_7 = /^https?:\/\/json-schema\.org\/draft-0[467]\/schema#?$/;

/** Returns the draft that `$schema` names; 2020-12 if it is missing or unknown. */
export function draftOf(dialect: unknown): Draft {
  return typeof dialect === "string" && DRAFT_7.test(dialect) ? "draft-07" : "2020-12";
}
