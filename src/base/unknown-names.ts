/** The names of all options: a record, so the compiler reports one that is missing. */
export type OptionNames<Options> = Readonly<Record<keyof Options, true>>;

/**
 * Refuses unknown options: a misspelt one would otherwise be ignored.
 *
 * @param of What has the options, such as `a journal`.
 * @throws {TypeError} that names the option and suggests the correct name.
 */
export function refuseUnknown(options: object, known: object, of: string): void {
  for (const name of Object.keys(options)) {
    if (!Object.hasOwn(known, name)) {
      throw new TypeError(`unknown option '${name}' of ${of}: ${expectedInstead(name, Object.keys(known))}`);
    }
  }
}

/** What to write in place of an unknown name. */
export function expectedInstead(name: string, names: readonly string[]): string {
  const meant = suggest(name, names);
  return meant === undefined ? `expected ${names.join(", ")}` : `did you mean '${meant}'?`;
}

/** Returns the name that a misspelt one most likely stands for; `undefined` unless that is obvious. */
export function suggest(misspelt: string, names: readonly string[]): string | undefined {
  const wanted = misspelt.toLowerCase();
  if (wanted.length > 64) return undefined;
  let best: string | undefined;
  let least = Math.min(2, Math.floor(wanted.length / 3)) + 1;
  for (const name of names) {
    const lower = name.toLowerCase();
    // The distance is at least the difference in length, so most names need no comparison.
    if (Math.abs(lower.length - wanted.length) >= least) continue;
    const distance = editDistance(wanted, lower);
    if (distance < least) [best, least] = [name, distance];
  }
  return best;
}

/** Returns the Damerau-Levenshtein distance between two words (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (same ? 0 : 1));
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (swapped) cost = Math.min(cost, (beforeLast[j - 2] ?? 0) + 1);
      row.push(cost);
    }
    [beforeLast, last] = [last, row];
  }
  return last[b.length] ?? 0;
}
