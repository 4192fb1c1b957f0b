/** The number of classes in which a duration doubles: a class is 9 % wide. */
const PER_DOUBLING = 8;

/** The shortest duration that has a class of its own, in milliseconds. */
const SHORTEST_MS = 0.1;

/** What is counted of calls, by a name where there is one, such as that of a tool. */
export type CountKind =
  | "call"
  | "denied"
  | "failed"
  | "asked"
  | "session"
  | "tool"
  | "tool-denied"
  | "tool-failed"
  | "rule"
  | "limit"
  | "allowed-by"
  | "denied-by"
  | "quick-by"
  | "answer-ms"
  | "sandbox-ms";

/** Stands for all names beyond the most that are counted. */
export const OTHERS = "\u0000";

/** Counters by kind and name, which a principal's calls share: `kind` or `kind name`. */
export type Counters = Map<string, number>;

/** Returns the key of a counter. */
export function keyOf(kind: CountKind, name = ""): string {
  return name === "" ? kind : `${kind} ${name}`;
}

/** Returns the kind and the name of a key. Names may have spaces, kinds have none. */
export function partsOf(key: string): readonly [kind: CountKind, name: string] {
  const at = key.indexOf(" ");
  return at < 0 ? [key as CountKind, ""] : [key.slice(0, at) as CountKind, key.slice(at + 1)];
}

/** Adds counters to further ones. */
export function addCounters(to: Counters, from: Counters): void {
  for (const [key, count] of from) to.set(key, (to.get(key) ?? 0) + count);
}

/** Returns the number of the class of a duration, so that durations can be counted and added up. */
export function durationClass(ms: number): number {
  return ms <= SHORTEST_MS ? 0 : Math.ceil(Math.log2(ms / SHORTEST_MS) * PER_DOUBLING);
}

/**
 * Returns the duration below which a share of those counted is, in milliseconds, to 5 %.
 *
 * @param counts How many there are, by their classes. Not empty.
 * @param share From 0 to 1.
 */
export function quantile(counts: ReadonlyMap<number, number>, share: number): number {
  let total = 0;
  for (const count of counts.values()) total += count;
  let [left, found] = [Math.max(1, Math.ceil(total * share)), 0];
  for (const [number, count] of [...counts].sort(([one], [other]) => one - other)) {
    found = number;
    left -= count;
    if (left <= 0) break;
  }
  return SHORTEST_MS * 2 ** (Math.max(0, found - 0.5) / PER_DOUBLING);
}
