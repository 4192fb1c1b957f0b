import { compilePattern, type PatternOptions } from "../../../patterns/pattern.ts";
import { PatternError } from "../../../patterns/pattern-syntax.ts";

/** The most that the patterns of a policy can have together, in characters with repetitions expanded: about 200 MB. */
const MAX_TOTAL_SIZE = 500_000;
/** What each pattern takes besides, in characters. */
const SIZE_OF_PATTERN = 8;

/** Compiles the patterns of one policy while it is checked, as long as they are not too large together. */
export class PatternBudget {
  readonly #known = new Set<string>();
  #size = 0;

  /**
   * Returns what is wrong with a pattern, for operators; `undefined` if it is valid. That the patterns are too large
   * together is said of the first one that is too many.
   */
  flawOf(source: string, options: PatternOptions = {}): string | undefined {
    const key = `${options.ignoreCase === true} ${source}`;
    if (this.#known.has(key) || this.#size > MAX_TOTAL_SIZE) return undefined;
    try {
      this.#size += SIZE_OF_PATTERN + compilePattern(source, options).size;
      this.#known.add(key);
    } catch (error) {
      if (error instanceof PatternError) return error.message;
      throw error;
    }
    if (this.#size <= MAX_TOTAL_SIZE) return undefined;
    return `the patterns of the policy are larger than ${MAX_TOTAL_SIZE} characters together, with their repetitions expanded`;
  }
}
