import { beginning, UNPRINTABLE } from "../../base/text.ts";
import type { ConfigPath } from "../../config/source.ts";
import { parsePointer } from "../../json/pointer.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import { normalizeSchema } from "../../schema/dialects/normalize.ts";
import { KEYWORDS } from "../../schema/keywords.ts";
import { SchemaError } from "../../schema/schema-error.ts";
import { mapSubschemas } from "../../schema/subschemas.ts";
import { LeftOutError, type OpenApiDocument, pointerOf } from "./document.ts";

/** What is copied of a schema besides the keywords that affect validity. */
const ANNOTATIONS: ReadonlySet<string> = new Set(["title", "description", "default", "deprecated"]);

/** References that are resolved while a value is checked, by names. What they stand for is not checked. */
const DYNAMIC: readonly string[] = ["$dynamicRef", "$recursiveRef"];

/** Maximum number of schemas of one operation. */
const MAX_SCHEMAS = 5_000;

/** Maximum number of levels of schemas within each other, without references. */
const MAX_LEVELS = 60;

const MAX_DESCRIPTION = 1_024;

/** A description for the model: printable, and not longer than a paragraph. */
export function descriptionOf(text: string): string {
  const lines = text.split(/\r?\n/).map((line) => line.replace(UNPRINTABLE, " ").trimEnd());
  const printable = lines.join("\n").trim();
  return printable.length > MAX_DESCRIPTION ? `${beginning(printable, MAX_DESCRIPTION)}…` : printable;
}

/** The input schema of one operation. Schemas that it refers to become its definitions, so that they may refer to themselves. */
export class InputSchema {
  readonly #document: OpenApiDocument;
  readonly #properties: Record<string, JsonValue> = {};
  readonly #required: string[] = [];
  readonly #definitions: Record<string, JsonValue> = {};
  /** The names of definitions by the pointers of what they define. */
  readonly #names = new Map<string, string>();
  readonly #pending: (() => void)[] = [];
  readonly #notes = new Set<string>();
  #schemas = 0;

  constructor(document: OpenApiDocument) {
    this.#document = document;
  }

  /** Whether there is an argument of that name. */
  has(name: string): boolean {
    return Object.hasOwn(this.#properties, name);
  }

  /**
   * Adds an argument.
   *
   * @throws {LeftOutError} if its schema cannot be used.
   */
  add(
    name: string,
    schema: JsonValue | undefined,
    path: ConfigPath,
    {
      description,
      isRequired,
    }: { readonly description: JsonValue | undefined; readonly isRequired: boolean },
  ): void {
    const own = this.#convert(schema ?? {}, path, 0);
    const hasText = typeof description === "string" && description.trim() !== "";
    this.#properties[name] =
      hasText && isJsonObject(own) ? { ...own, description: descriptionOf(description) } : own;
    if (isRequired) this.#required.push(name);
  }

  /**
   * Returns the whole schema, and what was left out of it: the tool takes more than the document says.
   *
   * @throws {LeftOutError} if it is not a valid schema.
   */
  finish(): { readonly schema: JsonObject; readonly notes: readonly string[] } {
    // Definitions are converted one after the other, so that a long chain of them does not fill the stack.
    for (let next = this.#pending.pop(); next !== undefined; next = this.#pending.pop()) next();
    const whole: JsonObject = {
      type: "object",
      properties: this.#properties,
      ...(this.#required.length > 0 && { required: this.#required }),
      additionalProperties: false,
      ...(Object.keys(this.#definitions).length > 0 && { $defs: this.#definitions }),
    };
    const { schema, notes } = normalized(whole);
    return { schema, notes: [...this.#notes, ...notes] };
  }

  #convert(schema: JsonValue, path: ConfigPath, level: number): JsonValue {
    if (typeof schema === "boolean") return schema;
    if (!isJsonObject(schema)) throw new LeftOutError(`${placeOf(path)} is not a schema`);
    if (++this.#schemas > MAX_SCHEMAS) throw new LeftOutError(`it has more than ${MAX_SCHEMAS} schemas`);
    if (level > MAX_LEVELS)
      throw new LeftOutError(`${placeOf(path)} has schemas nested deeper than ${MAX_LEVELS} levels`);
    const { $ref } = schema;
    if ($ref !== undefined && this.#document.is30) return { $ref: this.#definition($ref, path) };
    const converted: Record<string, JsonValue> = {};
    const hidden = responseOnly(schema["properties"]);
    for (const [keyword, value] of Object.entries(schema)) {
      if (value === undefined) continue;
      if (DYNAMIC.includes(keyword)) this.#notes.add(`'${keyword}' of ${placeOf(path)}`);
      else if (keyword === "$ref") converted[keyword] = this.#definition(value, path);
      else if (keyword === "description" || keyword === "title") {
        if (typeof value === "string") converted[keyword] = descriptionOf(value);
      } else if (keyword === "nullable") {
        if (value === true) converted[keyword] = true;
      } else if (keyword === "required" && Array.isArray(value))
        converted[keyword] = value.filter((name: JsonValue) => !hidden.has(name));
      else if (KEYWORDS.has(keyword) || ANNOTATIONS.has(keyword)) {
        const given = keyword === "properties" && isJsonObject(value) ? without(value, hidden) : value;
        converted[keyword] = mapSubschemas(keyword, given, (inner, step) =>
          this.#convert(inner, [...path, keyword, ...parsePointer(step)], level + 1),
        );
      }
    }
    return converted;
  }

  /** Returns the reference to a definition; the first time, it is going to be converted. */
  #definition($ref: JsonValue, path: ConfigPath): string {
    const { value, path: target } = this.#document.find($ref, placeOf(path));
    const pointer = pointerOf(target);
    let name = this.#names.get(pointer);
    if (name === undefined) {
      const wanted =
        String(target.at(-1) ?? "")
          .replace(/[^\w-]+/g, "_")
          .slice(0, 64) || "schema";
      name = wanted;
      for (let count = 2; Object.hasOwn(this.#definitions, name); count++) name = `${wanted}_${count}`;
      const own = name;
      this.#names.set(pointer, own);
      this.#definitions[own] = {};
      this.#pending.push(() => {
        this.#definitions[own] = this.#convert(value, target, 0);
      });
    }
    return `#/$defs/${name}`;
  }
}

function placeOf(path: ConfigPath): string {
  return `the schema at '${pointerOf(path)}'`;
}

/** The names of properties that only responses have. */
function responseOnly(properties: JsonValue | undefined): ReadonlySet<JsonValue> {
  const entries = isJsonObject(properties) ? Object.entries(properties) : [];
  return new Set(
    entries.flatMap(([name, property]) =>
      isJsonObject(property) && property["readOnly"] === true ? [name] : [],
    ),
  );
}

function without(properties: JsonObject, names: ReadonlySet<JsonValue>): JsonObject {
  return Object.fromEntries(Object.entries(properties).filter(([name]) => !names.has(name)));
}

/** Maps what only OpenAPI 3.0 has to JSON Schema, and leaves out patterns that cannot be matched in linear time. */
function normalized(schema: JsonObject): { readonly schema: JsonObject; readonly notes: readonly string[] } {
  try {
    return { schema: normalizeSchema(schema, { dialect: "json" }).schema, notes: [] };
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error;
    const patterns = new Set(error.problems.flatMap(({ path }) => (path.endsWith("/pattern") ? [path] : [])));
    if (patterns.size === 0) throw new LeftOutError(`its schema cannot be used: ${error.message}`);
    const { schema: rest, notes } = normalized(withoutPatterns(schema, patterns, "") as JsonObject);
    return { schema: rest, notes: [...[...patterns].map((path) => `the pattern at '${path}'`), ...notes] };
  }
}

function withoutPatterns(value: JsonValue, patterns: ReadonlySet<string>, path: string): JsonValue {
  if (Array.isArray(value))
    return value.map((item: JsonValue, index) => withoutPatterns(item, patterns, `${path}/${index}`));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member = null]) => {
      const at = path + pointerOf([name]);
      return patterns.has(at) ? [] : [[name, withoutPatterns(member, patterns, at)]];
    }),
  );
}
