import type { JsonObject, JsonValue } from "../../json/value.ts";
import type { Pattern } from "../../patterns/pattern.ts";
import { MAX_KEYWORDS, MAX_PATTERN_COMPILATION } from "../bounds.ts";
import type { KeywordShape } from "../keywords.ts";
import { SchemaError } from "../schema-error.ts";

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
