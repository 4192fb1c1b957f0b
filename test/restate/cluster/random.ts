/** Numbers from 0 to 1 that a seed chooses (mulberry32). */
export type Random = () => number;

/** Returns numbers that a seed chooses. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Returns one of some values. */
export function pick<Value>(random: Random, values: readonly Value[]): Value {
  return values[Math.floor(random() * values.length)] as Value;
}

/** Picks a name as often as its weight says. */
export function pickWeighted(random: Random, weights: Readonly<Record<string, number>>): string {
  const names = Object.entries(weights).flatMap(([name, weight]) => Array<string>(weight).fill(name));
  return pick(random, names);
}
