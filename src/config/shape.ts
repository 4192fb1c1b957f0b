import type { ErrorObject, SchemaValidateFunction } from "ajv";
import type { Ajv2020 } from "ajv/dist/2020.js";
import { loadAjv } from "../base/load-ajv.ts";
import { formatBytes, formatMinutes } from "../base/units.ts";
import { suggest } from "../base/unknown-names.ts";
import { canonicalText } from "../json/canonical.ts";
import { unescapePointer } from "../json/pointer.ts";
import { boolean, type Flat, list, string, type Shape as Typed, type TypeOf, typed } from "../json/shape.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/value.ts";

/** The schema of a text that is not empty. */
export const TEXT: Typed<string> = Object.freeze(string({ minLength: 1 }));

/** The schema of `true` or `false`. */
export const FLAG: Typed<boolean> = Object.freeze(boolean());

/** The schema of a list of texts that are not empty. */
export const TEXTS: Typed<readonly string[]> = Object.freeze(list(TEXT));

/** The schema of a duration with its unit, or in milliseconds. Its form is checked when it is parsed. */
export const DURATION: Typed<string | number> = typed({ type: ["string", "number"], title: "duration" });

/** The schema of a size with its unit, or in bytes. Its form is checked when it is parsed. */
export const SIZE: Typed<string | number> = typed({ type: ["string", "number"], title: "size" });

/** The schema of the path of a file or directory, relative to the file that has it. */
export const PATH: Typed<string> = typed({ ...TEXT, title: "path" });

/** The schema of a text that is one of some. */
export function choice<const Value extends string>(values: readonly Value[]): Typed<Value> {
  return typed({ type: "string", enum: [...values] });
}

/** The schema of a list of any texts, also empty ones. */
export const STRINGS: Typed<readonly string[]> = Object.freeze(list(string()));

/** A mismatch between a value and its shape. */
export interface Flaw {
  /** The path from the checked value. */
  readonly path: readonly string[];
  /** Whether the key or its value is wrong. */
  readonly at: "key" | "value";
  readonly message: string;
}

/** Checks the shape of a configuration. Returns every flaw of a value. */
export type Shape = (value: JsonValue) => readonly Flaw[];

/** A shape with what it was compiled from. */
export type CompiledShape = Shape & { readonly schema: JsonObject };

let compiler: Ajv2020 | undefined;

/**
 * Compiles a JSON Schema (draft 2020-12) for configurations. The additional keyword `message` replaces the text of any
 * flaw of the schema's value, except for a wrong type, a missing key and an unknown key. An `anyOf` or `oneOf` should
 * have a `message`, as the flaws of its alternatives are not reported. For the keyword `formerKeys`, see {@link mapOf}.
 *
 * @throws {Error} if the schema does not compile.
 */
export function compileShape(schema: JsonObject): CompiledShape {
  compiler ??= newCompiler();
  const validate = compiler.compile(schema);
  const check = (value: JsonValue): readonly Flaw[] =>
    validate(value) ? [] : describeAll(validate.errors ?? []);
  return Object.assign(check, { schema });
}

/** The type of a value: `unknown` if its schema does not say one. */
type Known<Schema> = [TypeOf<Schema>] extends [never] ? unknown : TypeOf<Schema>;

/** The type of a map. */
type MapOf<Properties, Required extends keyof Properties> = Flat<
  { readonly [Key in Required]: Known<Properties[Key]> } & {
    readonly [Key in Exclude<keyof Properties, Required>]?: Known<Properties[Key]>;
  }
>;

/**
 * The schema of a map that has only these keys. Its type is `TypeOf<typeof SCHEMA>`: an option is written once.
 *
 * @param formerKeys What to write in place of keys that the map had before. Default: there were none.
 */
export function mapOf<
  const Properties extends JsonObject,
  Required extends keyof Properties & string = never,
>(
  properties: Properties,
  required: readonly Required[] = [],
  formerKeys?: Readonly<Record<string, string>>,
): Typed<MapOf<Properties, Required>> {
  const schema: JsonObject = { type: "object", properties, required, additionalProperties: false };
  return typed(formerKeys === undefined ? schema : { ...schema, formerKeys });
}

/** The keyword `then`, to spread beside an `if`. (A module with an export of that name would be a thenable.) */
export function thenSchema(schema: JsonObject): JsonObject {
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
  return { then: schema };
}

function newCompiler(): Ajv2020 {
  const { Ajv2020 } = loadAjv();
  const ajv = new Ajv2020({
    allErrors: true,
    ownProperties: true,
    verbose: true,
    strict: true,
    strictRequired: false,
    allowUnionTypes: true,
    addUsedSchema: false,
    keywords: ["message", "formerKeys"],
    // Compiling checks the keywords of our schemas and the types of their values. The meta-schema would check them
    // again, and both it and the optimiser take longer than everything else.
    validateSchema: false,
    meta: false,
    code: { optimize: false },
  });
  // That of ajv compares each item with each other, unless the schema says their type.
  ajv.removeKeyword("uniqueItems");
  return ajv.addKeyword({
    keyword: "uniqueItems",
    type: "array",
    schemaType: "boolean",
    validate: checkUnique,
  });
}

const checkUnique: SchemaValidateFunction = (isAsked: boolean, items: readonly JsonValue[]) => {
  const indices = new Map<string, number>();
  for (const [i, item] of isAsked ? items.entries() : []) {
    const text = canonicalText(item);
    const j = indices.get(text);
    if (j !== undefined) {
      checkUnique.errors = [{ keyword: "uniqueItems", params: { i, j } }];
      return false;
    }
    indices.set(text, i);
  }
  return true;
};

function describeAll(errors: readonly ErrorObject[]): Flaw[] {
  // Many values can fail the same choice.
  const choices = new Set(
    errors
      .filter(({ keyword }) => keyword === "anyOf" || keyword === "oneOf")
      .map(({ schemaPath }) => `${schemaPath}/`),
  );
  const isPartOfChoice = ({ schemaPath }: ErrorObject): boolean =>
    [...choices].some((choice) => schemaPath.startsWith(choice));
  const flaws = new Map<string, Flaw>();
  for (const error of errors) {
    // These only repeat the errors of their subschemas.
    if (error.keyword === "if" || error.keyword === "propertyNames" || isPartOfChoice(error)) continue;
    const flaw = describe(error);
    // One value can violate several keywords with the same text.
    flaws.set(JSON.stringify(flaw), flaw);
  }
  return [...flaws.values()];
}

function describe(error: ErrorObject): Flaw {
  const { instancePath, keyword, propertyName } = error;
  const path = instancePath.split("/").slice(1).map(unescapePointer);
  const params = error.params as Record<string, unknown>;
  const message = wordsOfSchema(error) ?? wordsOf(error);
  if (propertyName !== undefined) return { path: [...path, propertyName], at: "key", message };
  if (keyword === "additionalProperties") {
    const key = String(params["additionalProperty"]);
    return { path: [...path, key], at: "key", message: unknownKey(key, error.parentSchema) };
  }
  return { path, at: keyword === "not" || keyword === "false schema" ? "key" : "value", message };
}

/** Returns the schema's own `message`, unless it does not apply to this kind of error. */
function wordsOfSchema({ keyword, parentSchema }: ErrorObject): string | undefined {
  const words: unknown = parentSchema?.["message"];
  const isOther = keyword === "type" || keyword === "required" || keyword === "additionalProperties";
  return typeof words === "string" && !isOther ? words : undefined;
}

function unknownKey(key: string, schema: ErrorObject["parentSchema"]): string {
  const properties: unknown = schema?.["properties"];
  const known = isJsonObject(properties) ? Object.keys(properties) : [];
  if (known.includes("directory") && known.includes("file")) {
    if (key === "path") return "unknown key 'path': write 'directory', or 'file' for a single file";
    if (key === "mode") return "unknown key 'mode': write 'write: true' for 'rw', and nothing for 'r'";
  }
  const former: unknown = schema?.["formerKeys"];
  if (isJsonObject(former) && Object.hasOwn(former, key)) return `unknown key '${key}': ${former[key]}`;
  const meant = suggest(key, known);
  if (meant !== undefined) return `unknown key '${key}': did you mean '${meant}'?`;
  return known.length > 0
    ? `unknown key '${key}': expected one of ${known.join(", ")}`
    : `unknown key '${key}': no keys are allowed here`;
}

const TYPES: Record<string, string> = {
  null: "null",
  boolean: "true or false",
  integer: "a whole number",
  number: "a number",
  string: "a string",
  array: "a list",
  object: "a map",
};

/** How many keys of a map are named where something else stands in its place. */
const MAX_NAMED_KEYS = 4;

/** Names the keys that a map can have, if they are few. */
function keysOf(schema: ErrorObject["parentSchema"]): string {
  const properties: unknown = schema?.["properties"];
  const keys = isJsonObject(properties) ? Object.keys(properties) : [];
  return keys.length > 0 && keys.length <= MAX_NAMED_KEYS ? ` (keys: ${keys.join(", ")})` : "";
}

function wordsOf({ keyword, params, parentSchema, message, data }: ErrorObject): string {
  const param = params as Record<string, unknown>;
  switch (keyword) {
    case "type": {
      const types = [param["type"]].flat().map((type) => TYPES[String(type)]);
      const keys = param["type"] === "object" ? keysOf(parentSchema) : "";
      return `must be ${types.join(" or ")}${keys}, not ${typeOf(data)}`;
    }
    case "required":
      return `'${param["missingProperty"]}' is missing`;
    case "enum": {
      const allowed = (param["allowedValues"] as readonly unknown[]).map(String);
      const meant = typeof data === "string" ? suggest(data, allowed) : undefined;
      return `must be one of ${allowed.join(", ")}${meant === undefined ? "" : `: did you mean '${meant}'?`}`;
    }
    case "minItems":
    case "minLength":
    case "minProperties":
      return param["limit"] === 1 ? "must not be empty" : (message ?? "is too short");
    case "maxItems":
      return `must have at most ${param["limit"]} items`;
    case "uniqueItems":
      return `the items ${param["j"]} and ${param["i"]} (counted from 0) are equal`;
    case "false schema":
    case "not":
      return "is not allowed here";
    default:
      return message ?? "is not valid";
  }
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return typeof value === "boolean" ? "a boolean" : (TYPES[typeof value] ?? typeof value);
}

/**
 * Returns a schema with a description, which editors show, and `docs/sandgate-yaml.md` has. A `title` of the schema names the
 * kind of value, and its unit, in the documentation.
 *
 * @param description Ends with `Default: …` if the value may be absent and something takes its place that is no value.
 * @param fallback The value that takes its place: the `default` of the schema, with which the description then ends. A number is
 *   in the unit of the schema, which is milliseconds for a {@link DURATION} and bytes for a {@link SIZE}. Code that applies it reads it with {@link defaultOf}, or both have it from one constant.
 * @param note What is said after the default, such as `, where …`. Default: nothing.
 */
export function described<Schema extends JsonObject>(
  schema: Schema,
  description: string,
  fallback?: JsonValue,
  note = "",
): Schema {
  if (fallback === undefined) return { ...schema, description };
  const written = asWritten(fallback, schema["title"]);
  const text = `${description} Default: ${fallbackText(written, schema["title"])}${note}.`;
  return { ...schema, description: text.trimStart(), default: written };
}

/** A duration in milliseconds, or a size in bytes, as people write it. */
function asWritten(value: JsonValue, kind: JsonValue | undefined): JsonValue {
  if (typeof value !== "number") return value;
  return kind === "duration"
    ? formatMinutes(value)
    : kind === "size"
      ? formatBytes(value).replace(" ", "")
      : value;
}

function fallbackText(value: JsonValue, kind: JsonValue | undefined): string {
  if (typeof value === "number")
    return kind === "bytes" ? formatBytes(value) : kind === "port" ? `${value}` : value.toLocaleString("en");
  if (Array.isArray(value)) return `\`[${value.join(", ")}]\``;
  if (isJsonObject(value))
    return Object.values(value)
      .map((each) => `\`${each}\``)
      .join(" and ");
  return `\`${value}\``;
}

/**
 * Returns the default of a member of a map.
 *
 * @throws {Error} if its shape has none.
 */
export function defaultOf<Entry, Name extends keyof Entry & string>(
  map: Typed<Entry>,
  name: Name,
): NonNullable<Entry[Name]> {
  const { [name]: member } = map["properties"] as Readonly<Record<string, JsonObject>>;
  const fallback = member?.["default"];
  if (fallback === undefined) throw new Error(`the shape of ${name} has no default`);
  return fallback as NonNullable<Entry[Name]>;
}
