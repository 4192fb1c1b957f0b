import { suggest } from "./suggest.ts";

/** The names of all options: a record, so the compiler reports one that is missing. */
export type OptionNames<Options> = Readonly<Record<keyof Options, true>>;

/**
 * Refuses options under names that nothing reads: a misspelt one would be ignored.
 *
 * @param of What the options are of: `a journal`.
 * @throws {TypeError} that names the option, and the one that is meant.
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
