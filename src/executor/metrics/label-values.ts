/** The value of a label that stands for all values that have no place of their own. */
export const OTHER = "other";

/** The longest value of a label, in UTF-16 code units. */
const MAX_LENGTH = 128;

/** The values of a label that have a place of their own: the first ones that come. */
export class LabelValues {
  readonly #known = new Set<string>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  /** Returns a value, or {@link OTHER} if there are too many, or it is too long. */
  of(value: string): string {
    if (this.#known.has(value)) return value;
    if (value.length > MAX_LENGTH || this.#known.size >= this.#max) return OTHER;
    this.#known.add(value);
    return value;
  }
}

/** Returns the largest counts with their names, and the sum of all others as {@link OTHER}. */
export function largest(counts: ReadonlyMap<string, number>, max: number): ReadonlyMap<string, number> {
  const ranked = [...counts].sort(([, one], [, two]) => two - one);
  const result = new Map<string, number>();
  for (const [name, count] of ranked) {
    const key = name.length > MAX_LENGTH || result.size >= max ? OTHER : name;
    result.set(key, (result.get(key) ?? 0) + count);
  }
  return result;
}
