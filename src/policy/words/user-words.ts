import { dayOf, daysIn } from "./days.ts";
import { numbersIn } from "./numbers.ts";
import { MAX_REFERENCE_TEXT, referencesIn } from "./references.ts";
import { standsWhole } from "./whole-text.ts";

/** The longest text of a user in which values are looked for, in UTF-16 code units. */
export const MAX_WORDS: number = MAX_REFERENCE_TEXT;

/** What a user said, as a source of values. It is read further only when that is needed. */
export class UserWords {
  readonly text: string;
  #numbers: ReadonlySet<number> | undefined;
  #days: ReadonlySet<string> | undefined;
  #references: ReadonlySet<string> | undefined;

  constructor(text: string) {
    this.text = text;
  }

  /** Whether the value stands whole in the words: a number by its value, and of a date or time the day. */
  have(value: string | number): boolean {
    if (typeof value === "number") {
      this.#numbers ??= numbersIn(this.text);
      return this.#numbers.has(value);
    }
    if (standsWhole(this.text, value)) return true;
    const days = dayOf(value);
    if (days === undefined) return false;
    this.#days ??= daysIn(this.text);
    return days.some((day) => this.#days?.has(day));
  }

  /** Whether the words have a link, address or account number that `referencesIn` found. */
  haveReference(reference: string): boolean {
    this.#references ??= referencesIn(this.text);
    return this.#references.has(reference);
  }
}
