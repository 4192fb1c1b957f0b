import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";

/** The subset of JSON Schema that a provider's strict mode supports. */
export interface StrictSubset {
  /** Whether every property must be required. An optional one is then rewritten to accept null. */
  readonly requiresAll: boolean;
  readonly takesRecursion: boolean;
  /** The supported keywords that bound a value. The others are added to the description. */
  readonly bounds: ReadonlySet<string>;
  readonly formats: ReadonlySet<string>;
  /** The maximum depth of nested objects and lists. */
  readonly maxDepth: number;
  /** The limits for one tool. */
  readonly tool: SchemaSize;
  /** The limits for all strict tools of a request together. */
  readonly request: SchemaSize & { readonly tools: number };
}

/** The counts that providers limit in schemas. */
export interface SchemaSize {
  readonly properties: number;
  readonly enumValues: number;
  /** Characters of names and enum values. */
  readonly text: number;
  /** Characters of the longest enum, if it has more than {@link MANY_VALUES} values. */
  readonly longEnum: number;
  /** Properties that are not required. */
  readonly optional: number;
  /** Schemas with several types or alternatives. */
  readonly unions: number;
}

/** An enum with more values may have only so many characters (OpenAI, "Structured outputs", "Limitations on enum sizes"). */
const MANY_VALUES = 250;

const NAMES: Readonly<Record<keyof SchemaSize, string>> = {
  properties: "properties",
  enumValues: "enum values",
  text: "characters in names and enum values",
  longEnum: `characters in an enum of more than ${MANY_VALUES} values`,
  optional: "optional properties",
  unions: "unions",
};

/** No limits. */
export const UNLIMITED: SchemaSize = {
  properties: Number.POSITIVE_INFINITY,
  enumValues: Number.POSITIVE_INFINITY,
  text: Number.POSITIVE_INFINITY,
  longEnum: Number.POSITIVE_INFINITY,
  optional: Number.POSITIVE_INFINITY,
  unions: Number.POSITIVE_INFINITY,
};

const FORMATS: ReadonlySet<string> = new Set([
  "date-time",
  "time",
  "date",
  "duration",
  "email",
  "hostname",
  "ipv4",
  "ipv6",
  "uuid",
]);

/** OpenAI, "Structured outputs", section "Supported schemas". */
export const OPENAI_STRICT: StrictSubset = {
  requiresAll: true,
  takesRecursion: true,
  bounds: new Set([
    "pattern",
    "multipleOf",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minItems",
    "maxItems",
  ]),
  formats: FORMATS,
  maxDepth: 10,
  tool: { ...UNLIMITED, properties: 5_000, enumValues: 1_000, text: 120_000, longEnum: 15_000 },
  request: { ...UNLIMITED, tools: Number.POSITIVE_INFINITY },
};

/** Anthropic, "Structured outputs", sections "JSON Schema limitations" and "Schema complexity limits". */
export const ANTHROPIC_STRICT: StrictSubset = {
  requiresAll: false,
  takesRecursion: false,
  bounds: new Set(["minItems: 0", "minItems: 1"]),
  formats: new Set([...FORMATS, "uri"]),
  maxDepth: 32,
  tool: UNLIMITED,
  request: { ...UNLIMITED, tools: 20, optional: 24, unions: 16 },
};

/** The subset that both support, for the AI SDK, which sends the same schema to either. */
export const COMMON_STRICT: StrictSubset = {
  requiresAll: true,
  takesRecursion: false,
  bounds: ANTHROPIC_STRICT.bounds,
  formats: FORMATS,
  maxDepth: OPENAI_STRICT.maxDepth,
  tool: OPENAI_STRICT.tool,
  request: ANTHROPIC_STRICT.request,
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
    text: lengthOf(texts) + lengthOf(values),
    longEnum: values.length > MANY_VALUES ? lengthOf(values) : 0,
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
    longEnum: Math.max(a.longEnum, b.longEnum),
    optional: a.optional + b.optional,
    unions: a.unions + b.unions,
  };
}

/** Returns the first count that exceeds its limit, as text; `undefined` if there is none. */
export function findExcess(size: SchemaSize, limit: SchemaSize): string | undefined {
  const name = (Object.keys(NAMES) as (keyof SchemaSize)[]).find((key) => size[key] > limit[key]);
  return name === undefined ? undefined : `more than ${limit[name]} ${NAMES[name]}`;
}

function lengthOf(values: readonly JsonValue[]): number {
  return values.reduce<number>((sum, value) => sum + String(value).length, 0);
}

function membersOf(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}
