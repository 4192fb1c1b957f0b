import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import type { Pattern } from "../../patterns/pattern.ts";
import { MAX_KEYWORDS, MAX_KEYWORDS_PER_VALUE, MAX_PATTERN_COMPILATION } from "../bounds.ts";
import { JSON_TYPES, type KeywordShape } from "../keywords.ts";
import { SchemaError, type SchemaProblem } from "../schema-error.ts";

/** Counts the keywords of a schema that have to be compiled. */
export class KeywordBudget {
  #spent = 0;

  get spent(): number {
    return this.#spent;
  }

  /** @throws {SchemaError} if there are more than {@link MAX_KEYWORDS}. */
  spend(path: string, keywords = 1): void {
    this.#spent += keywords;
    if (this.#spent <= MAX_KEYWORDS) return;
    throw new SchemaError([{ path, reason: `more than ${MAX_KEYWORDS} keywords and properties` }]);
  }
}

/** Counts what it costs to compile the patterns of a schema. */
export class PatternBudget {
  #spent = 0;

  /** @throws {SchemaError} if all patterns cost more than {@link MAX_PATTERN_COMPILATION}. */
  spend(path: string, { compilation }: Pattern): void {
    this.#spent += compilation;
    if (this.#spent <= MAX_PATTERN_COMPILATION) return;
    throw new SchemaError([{ path, reason: "the patterns of the schema are too many to compile" }]);
  }
}

/** How much of a pattern, and how many required names, take as long to compile as one keyword. */
const PATTERN_PER_KEYWORD = 10;

const NAMES_PER_KEYWORD = 4;

/** Above this many names, ajv generates a loop. */
const MAX_UNROLLED = 200;

interface Reference {
  readonly to: string;
  readonly path: string;
}

/**
 * Computes the cost of definitions for a single value, including the references that apply to the same value. A cycle
 * of such references never ends, and a chain can double the work at each link.
 */
export class WorkGraph {
  readonly #weights = new Map<string, number>();
  readonly #references = new Map<string, Reference[]>();
  /** The computed costs; `"open"` while a cost is being computed. */
  readonly #costs = new Map<string, number | "open">();

  /** Adds a definition with its number of keywords. */
  add(definition: string, keywords: number): void {
    this.#weights.set(definition, keywords);
  }

  /** Adds a reference that applies to the same value as the definition that contains it. */
  refer(from: string, to: string, path: string): void {
    const known = this.#references.get(from);
    if (known === undefined) this.#references.set(from, [{ to, path }]);
    else known.push({ to, path });
  }

  /** Returns the first reference that never ends or that causes too much work. */
  findProblem(): SchemaProblem | undefined {
    for (const definition of this.#weights.keys()) {
      const found = this.#cost(definition);
      if (typeof found !== "number") return found;
    }
    return undefined;
  }

  #cost(definition: string): number | SchemaProblem {
    const known = this.#costs.get(definition);
    if (typeof known === "number") return known;
    this.#costs.set(definition, "open");
    let cost = this.#weights.get(definition) ?? 0;
    for (const { to, path } of this.#references.get(definition) ?? []) {
      if (this.#costs.get(to) === "open")
        return { path, reason: "the reference recurses endlessly on the same value" };
      const more = this.#cost(to);
      if (typeof more !== "number") return more;
      cost += more;
      if (cost > MAX_KEYWORDS_PER_VALUE) {
        return {
          path,
          reason: `more than ${MAX_KEYWORDS_PER_VALUE} keywords apply to one value through references`,
        };
      }
    }
    this.#costs.set(definition, cost);
    return cost;
  }
}

/** Returns the cost of a keyword's names, in keywords. */
export function costOf(shape: KeywordShape, value: JsonValue): number {
  if (shape === "names")
    return Math.min((value as readonly string[]).length, MAX_UNROLLED) / NAMES_PER_KEYWORD;
  if (shape !== "names-map") return 0;
  return Object.values(value as JsonObject).reduce<number>((sum, names) => sum + 1 + (names as []).length, 0);
}

/** Returns the cost of a pattern, in keywords. */
export function patternCost({ size }: Pattern): number {
  return size / PATTERN_PER_KEYWORD;
}

/** Returns why a value does not have the shape of its keyword; `undefined` if it does. Subschemas are not checked. */
export function unfitValue(shape: KeywordShape, value: JsonValue): string | undefined {
  switch (shape) {
    case "schema":
      return isSchema(value) ? undefined : "must be a schema: an object or a boolean";
    case "schema-list":
      return Array.isArray(value) && value.length > 0 ? undefined : "must be a list of schemas";
    case "schema-or-list":
      return isSchema(value) || Array.isArray(value) ? undefined : "must be a schema or a list of schemas";
    case "schema-map":
    case "dependencies":
      return isJsonObject(value) ? undefined : "must be an object whose members are schemas";
    case "names-map": {
      const isMap = isJsonObject(value) && Object.values(value).every(isNames);
      return isMap ? undefined : "must be an object whose members are lists of names";
    }
    case "number":
      return typeof value === "number" ? undefined : "must be a number";
    case "positive-number":
      return typeof value === "number" && value > 0 ? undefined : "must be a number above 0";
    case "count":
      return Number.isInteger(value) && Number(value) >= 0 ? undefined : "must be a non-negative integer";
    case "flag":
      return typeof value === "boolean" ? undefined : "must be true or false";
    case "format":
    case "pattern":
    case "reference":
      return typeof value === "string" ? undefined : "must be a string";
    case "names":
      return isNames(value) ? undefined : "must be a list of names";
    case "values":
      return Array.isArray(value) ? undefined : "must be a list of values";
    case "types":
      return unfitTypes(value);
    case "value":
      return undefined;
  }
}

/** Returns whether a value can be a schema: an object or a boolean. */
export function isSchema(value: JsonValue | undefined): boolean {
  return typeof value === "boolean" || isJsonObject(value);
}

function isNames(value: JsonValue | undefined): boolean {
  return Array.isArray(value) && value.every((name) => typeof name === "string");
}

function unfitTypes(value: JsonValue): string | undefined {
  const types = Array.isArray(value) ? value : [value];
  if (types.length === 0) return "must name at least one type";
  const unknown = types.find((type) => !JSON_TYPES.includes(type));
  if (unknown === undefined) return undefined;
  const shown = typeof unknown === "string" ? `'${unknown.slice(0, 64)}'` : "a value that is not a string";
  return `must be one of ${JSON_TYPES.join(", ")}, not ${shown} (normalizeSchema maps other dialects' types)`;
}
