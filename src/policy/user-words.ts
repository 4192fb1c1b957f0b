import { MAX_REFERENCE_TEXT, referencesIn } from "./references.ts";

/** Characters that end a value on either side: white space, quotation marks, brackets, list separators. */
const SEPARATOR = /[\s"“”„«»`()[\]{}<>,;|]/u;

/** A single quotation mark ends a value, also before a genitive s, but not within a word or link: `O'Brien`. */
const APOSTROPHE =
  /^['’‘](?:s(?![^\s"“”„«»`()[\]{}<>,;|.!?:…*_'’‘])|(?=[\s"“”„«»`()[\]{}<>,;|.!?:…*_'’‘]|$))/u;

/** May stand before a value if nothing else does: `@ann`, `#general`, `*now*`. */
const PREFIX = /[@#*_'’‘]/u;

/** Ends a sentence, or an emphasis, if a separator follows. */
const ENDING = /[.!?:…*_'’]/u;

const DIGIT = /\d/;

/** Maximum number of characters at the end of a sentence that are skipped. */
const MAX_ENDING = 8;

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

const MONTH = `(${[
  "jan(?:uary)?",
  "feb(?:ruary)?",
  "mar(?:ch)?",
  "apr(?:il)?",
  "may",
  "june?",
  "july?",
  "aug(?:ust)?",
  "sept?(?:ember)?",
  "oct(?:ober)?",
  "nov(?:ember)?",
  "dec(?:ember)?",
].join("|")})\\.?`;

const DAY = "(\\d{1,2})(?:st|nd|rd|th)?";

const TO = " ?(?:-|–|to|until|and|or) ?";

const YEAR = "(?:,? (\\d{4}))?(?![\\p{L}\\p{N}])";

const ISO = /(?<![\p{L}\p{N}-])(\d{4})-(\d{2})-(\d{2})(?![\p{N}-])/gu;

/** `May 15th, 2024`, `November 10 to 15`. */
const MONTH_FIRST = new RegExp(`(?<![\\p{L}\\p{N}])${MONTH} ${DAY}(?:${TO}${DAY})?${YEAR}`, "giu");

/** `15 May 2024`, `14th to 15th of November`. */
const DAY_FIRST = new RegExp(`(?<![\\p{L}\\p{N}.,:/-])${DAY}(?:${TO}${DAY})?(?: of)? ${MONTH}${YEAR}`, "giu");

/** A date, or a date and time of ISO 8601, with a blank in the place of the `T` too. */
const TIME = /^(\d{4})-(\d{2})-(\d{2})(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/;

/**
 * A number in a text, with or without thousands separators, that is no part of a date, time, version, account number or
 * word. With blanks or apostrophes between thousands (`5 000`), it is none: it could be two. Linear: a run of digits is
 * read from its beginning only.
 */
const NUMBER =
  /(?<![\p{L}\p{N}\p{M}_.,:/−-]|\p{N}['’ \u00A0\u2009\u202F](?=\d{3}(?!\p{N})))-?(?:\d{1,3}(?:,\d{3})+|\d{1,15})(?:\.\d{1,15})?(?![\p{L}\p{N}\p{M}_%]|[.,:/-]\p{N}|[-/]|['’ \u00A0\u2009\u202F]\d{3}(?!\p{N}))/gu;

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

/** Returns the numbers that stand in a text, by value: `1,000.00` is 1000. */
function numbersIn(text: string): ReadonlySet<number> {
  return new Set(Array.from(text.matchAll(NUMBER), ([number]) => Number(number.replaceAll(",", ""))));
}

/** Returns the day of a date or time, as {@link daysIn} writes it, with its year and without; `undefined` for any other text. */
function dayOf(value: string): readonly string[] | undefined {
  const [, year, month, day] = TIME.exec(value) ?? [];
  return year === undefined ? undefined : [`${year}-${month}-${day}`, `${month}-${day}`];
}

/**
 * Returns the days that a text names, as `2024-05-15`, or as `05-15` if it names no year. It knows ISO 8601 and the
 * English names of months, and not `5/6/2024`, which two countries read in two ways.
 */
function daysIn(text: string): ReadonlySet<string> {
  const days = new Set<string>();
  for (const [, year, month, day] of text.matchAll(ISO)) days.add(`${year}-${month}-${day}`);
  const words = text.replace(/\s+/gu, " ");
  for (const [, month, first, last, year] of words.matchAll(MONTH_FIRST))
    add(days, month, [first, last], year);
  for (const [, first, last, month, year] of words.matchAll(DAY_FIRST)) add(days, month, [first, last], year);
  return days;
}

function add(
  days: Set<string>,
  month = "",
  numbers: readonly (string | undefined)[],
  year: string | undefined,
): void {
  const index = MONTHS.indexOf(month.slice(0, 3).toLowerCase()) + 1;
  for (const number of numbers) {
    if (number === undefined) continue;
    const day = `${String(index).padStart(2, "0")}-${number.padStart(2, "0")}`;
    days.add(year === undefined ? day : `${year}-${day}`);
  }
}

/**
 * Whether a value stands in a text as a whole: exactly, and not as a part of a longer word, name, number, address or
 * link. `ann@x.com` is not in `joann@x.com`, `ann@x.com.example`, nor in `ann@x.com/inbox`. If in doubt, it is not.
 */
export function standsWhole(text: string, value: string): boolean {
  if (value === "") return false;
  for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + 1)) {
    if (beginsAt(text, at) && endsAt(text, at + value.length)) return true;
  }
  return false;
}

function beginsAt(text: string, at: number): boolean {
  const before = text[at - 1];
  if (before === undefined) return true;
  if (before === "," && DIGIT.test(text[at - 2] ?? "") && DIGIT.test(text[at] ?? "")) return false;
  if (SEPARATOR.test(before)) return true;
  return PREFIX.test(before) && isSeparated(text[at - 2]);
}

function endsAt(text: string, end: number): boolean {
  const after = text[end];
  if (after === undefined || APOSTROPHE.test(text.slice(end, end + 3))) return true;
  if (after === "," && DIGIT.test(text[end - 1] ?? "") && DIGIT.test(text[end + 1] ?? "")) return false;
  if (SEPARATOR.test(after)) return true;
  for (let next = end; next < end + MAX_ENDING; next++) {
    if (!ENDING.test(text[next] ?? "")) return isSeparated(text[next]) && next > end;
  }
  return false;
}

function isSeparated(neighbour: string | undefined): boolean {
  return neighbour === undefined || SEPARATOR.test(neighbour);
}
