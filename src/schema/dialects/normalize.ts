import { type OptionNames, refuseUnknown } from "../../base/unknown-names.ts";
import { copyJson } from "../../json/copy.ts";
import { escapePointer } from "../../json/pointer.ts";
import { isJsonObject, type JsonObject, type JsonValue, JsonValueError } from "../../json/value.ts";
import { MAX_SCHEMA_DEPTH, SCHEMA_BOUNDS } from "../bounds.ts";
import { lowerSchema } from "../compile/lower.ts";
import { type Draft, draftOf, JSON_TYPES } from "../keywords.ts";
import { SchemaError, type SchemaProblem } from "../schema-error.ts";
import { mapSubschemas } from "../subschemas.ts";
import { DIALECT_RULES, type OpenSchema, propertiesOf, rootObject, saysNothing } from "./property-lists.ts";
import { parseTypeExpression, TypeExpressionError } from "./type-expression.ts";
import {
  DIALECTS,
  type SchemaDialect,
  type TypeContext,
  typeNames,
  typeSchema,
  unionSchema,
} from "./type-schema.ts";

const NAMES: OptionNames<NormalizeSchemaOptions> = { dialect: true };

/** Options of {@link normalizeSchema}. */
export interface NormalizeSchemaOptions {
  /** The dialect whose type names are mapped; `"auto"` maps those of all dialects. Default: `"auto"`. */
  readonly dialect?: SchemaDialect | "auto";
}

/** One change of a schema. */
export interface SchemaChange {
  /** JSON pointer (RFC 6901) into the original schema. */
  readonly path: string;
  /** The original value. Absent if the member was added. */
  readonly from?: JsonValue;
  /** The new value. Absent if the member was removed. */
  readonly to?: JsonValue;
}

/** A JSON Schema, and how it differs from the original. */
export interface NormalizedSchema {
  readonly schema: JsonObject;
  /** In the order in which they were made. Empty if the original was JSON Schema already. */
  readonly changes: readonly SchemaChange[];
}

/**
 * Maps the dialects of tool catalogues (type names of Python, Java, JavaScript, …, OpenAPI's `nullable`,
 * `required: true` inside a property, lists of properties, …) to JSON Schema, and reports each change. A schema that
 * already is JSON Schema is not changed.
 *
 * @throws {SchemaError} for everything that cannot be mapped, with path and reason. Nothing is guessed.
 * @throws {TypeError} for an unknown dialect.
 */
export function normalizeSchema(schema: unknown, options: NormalizeSchemaOptions = {}): NormalizedSchema {
  refuseUnknown(options, NAMES, "normalizeSchema");
  const { dialect = "auto" } = options;
  if (dialect !== "auto" && !Object.hasOwn(DIALECTS, dialect))
    throw new TypeError(`unknown dialect '${dialect}'`);
  const dialects =
    dialect === "auto" ? (Object.keys(DIALECTS) as SchemaDialect[]) : (["json", dialect] as const);
  let copy: JsonValue;
  try {
    copy = copyJson(schema, SCHEMA_BOUNDS);
  } catch (error) {
    throw new SchemaError([
      { path: "", reason: error instanceof JsonValueError ? error.message : "the schema cannot be read" },
    ]);
  }
  const normalizer = new Normalizer(dialects, draftOf(isJsonObject(copy) ? copy["$schema"] : undefined));
  const normalized = normalizer.run(copy);
  // Refuses what is still not valid JSON Schema, so that the error names this step.
  lowerSchema(normalized.schema);
  return normalized;
}

class Normalizer {
  readonly #context: TypeContext;
  readonly #draft: Draft;
  readonly #changes: SchemaChange[] = [];
  readonly #problems: SchemaProblem[] = [];

  constructor(dialects: readonly SchemaDialect[], draft: Draft) {
    this.#context = { names: typeNames(dialects), draft };
    this.#draft = draft;
  }

  run(given: JsonValue): NormalizedSchema {
    const root = rootObject(given);
    if (root !== given) this.#note("", given, root);
    const schema = this.#schema(root, "", 0);
    if (saysNothing(schema)) this.#refuse("", "none of its members is a schema keyword");
    if (this.#problems.length === 0 && !isJsonObject(schema)) this.#refuse("", "the root must be an object");
    if (this.#problems.length > 0) throw new SchemaError(this.#problems);
    return { schema: schema as JsonObject, changes: this.#changes };
  }

  #schema(given: JsonValue, path: string, depth: number): JsonValue {
    if (depth > MAX_SCHEMA_DEPTH) {
      throw new SchemaError([{ path, reason: `schemas nested deeper than ${MAX_SCHEMA_DEPTH} levels` }]);
    }
    // A type name in place of a schema.
    if (typeof given === "string") {
      const schema = this.#type(given, path);
      if (schema !== undefined) this.#note(path, given, schema);
      return schema ?? true;
    }
    // Lowering refuses anything else.
    if (!isJsonObject(given)) return given;
    const schema: OpenSchema = { ...given };
    for (const { keyword, rewrite } of DIALECT_RULES) {
      const value = schema[keyword];
      const change = value === undefined ? undefined : rewrite(value, schema, this.#draft);
      if (change !== undefined) this.#change(schema, change, path);
    }
    this.#properties(schema, path);
    this.#rewriteType(schema, path);
    for (const keyword of Object.keys(schema)) {
      const value = schema[keyword];
      if (value === undefined) continue;
      const at = `${path}/${escapePointer(keyword)}`;
      schema[keyword] = mapSubschemas(keyword, value, (inner, step) =>
        this.#schema(inner, at + step, depth + 1),
      );
    }
    return Object.freeze(withoutUndefined(schema));
  }

  /** Turns a list of properties into a map, and collects the names of the required ones. */
  #properties(schema: OpenSchema, path: string): void {
    const change = propertiesOf(schema);
    for (const { path: at, reason } of change.problems) this.#refuse(path + at, reason);
    for (const { path: at, from, to } of change.changes) this.#note(path + at, from, to);
    Object.assign(schema, change.members);
  }

  #rewriteType(schema: OpenSchema, path: string): void {
    const { type } = schema;
    if (type === undefined || isJsonType(type)) return;
    const at = `${path}/type`;
    if (typeof type === "string" && /^(?:enum|choice)$/i.test(type.trim())) {
      if (Array.isArray(schema["enum"])) this.#change(schema, { type: undefined }, path);
      else this.#refuse(at, "the enumeration has no values");
      return;
    }
    const types = Array.isArray(type) ? type : [type];
    const schemas = types.map((one: JsonValue) =>
      typeof one === "string" ? this.#type(one, at) : undefined,
    );
    if (types.some((one: JsonValue) => typeof one !== "string")) {
      this.#refuse(at, "must be a type name or a list of type names");
    }
    if (schemas.length === 0 || schemas.some((one) => one === undefined)) return;
    const whole = Array.isArray(type) ? unionSchema(schemas as JsonObject[]) : (schemas[0] as JsonObject);
    const expanded: OpenSchema = { type: undefined, ...whole };
    for (const keyword of Object.keys(expanded)) {
      // The schema's own keywords take precedence over those from the type expression.
      if (keyword !== "type" && schema[keyword] !== undefined) delete expanded[keyword];
    }
    Object.assign(schema, expanded);
    this.#note(
      at,
      type,
      whole["type"] !== undefined && Object.keys(whole).length === 1 ? whole["type"] : whole,
    );
  }

  #type(text: string, path: string): JsonObject | undefined {
    try {
      return typeSchema(parseTypeExpression(text), this.#context);
    } catch (error) {
      if (!(error instanceof TypeExpressionError)) throw error;
      this.#refuse(path, `the type '${text.slice(0, 64)}' cannot be mapped: ${error.message}`);
      return undefined;
    }
  }

  #change(schema: OpenSchema, change: OpenSchema, path: string): void {
    for (const keyword of Object.keys(change)) {
      const from = schema[keyword];
      if (from !== change[keyword]) this.#note(`${path}/${keyword}`, from, change[keyword]);
    }
    Object.assign(schema, change);
  }

  #note(path: string, from: JsonValue | undefined, to: JsonValue | undefined): void {
    const change = { path, ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
    this.#changes.push(Object.freeze(change));
  }

  #refuse(path: string, reason: string): void {
    this.#problems.push({ path, reason });
  }
}

function isJsonType(type: JsonValue): boolean {
  return (Array.isArray(type) ? type : [type]).every((one: JsonValue) => JSON_TYPES.includes(one as string));
}

function withoutUndefined(schema: OpenSchema): JsonObject {
  return Object.fromEntries(Object.entries(schema).filter(([, value]) => value !== undefined)) as JsonObject;
}
