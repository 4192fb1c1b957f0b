/**
 * What bounds the work of a formatter, which nothing can interrupt. The length alone does not: of what Node.js was seen
 * to do with values of a few characters, some took minutes.
 */

/** The most characters of a number, and the largest exponent. `1e-999999999` in compact notation would take a minute. */
const MAX_DIGITS = 1_000;

/**
 * The most work that the combining marks of two texts may be. To collate a run of marks takes time in proportion to
 * the square of its length, so this is the sum of these squares: a run of 1,000 marks, or 1,000 runs of 30.
 */
const MAX_MARKS_WORK = 1_000_000;

/** Texts of which no run can be too much work. */
const MAX_UNSCANNED_LENGTH = 700;

const MARKS = /\p{M}{2,}/gu;

/** The calendars and languages whose patterns the parts of a date can be taken from: see {@link checkParts}. */
const SAFE_CALENDARS: ReadonlySet<unknown> = new Set(["gregory"]);
const SAFE_LANGUAGES: ReadonlySet<unknown> = new Set(
  (
    "af am ar as az be bg bn bs ca cs cy da de el en es et eu fa fi fil fr ga gl gu he hi hr hu hy id is it ja ka kk " +
    "km kn ko ky lo lt lv mk ml mn mr ms my nb ne nl nn no or pa pl ps pt ro ru sd si sk sl so sq sr sv sw ta te th " +
    "tk tr uk ur uz vi yue zh zu"
  ).split(" "),
);

/**
 * Checks a number that is written as text.
 *
 * @throws {RangeError} if it has too many digits, or too large an exponent.
 */
export function checkNumber(text: string): void {
  // The digits of a hexadecimal number can be an e, too.
  const exponent = text.length > MAX_DIGITS ? undefined : (/^[^x]*e([+-]?\d+)\s*$/i.exec(text)?.[1] ?? "0");
  if (exponent !== undefined && Math.abs(Number(exponent)) <= MAX_DIGITS) return;
  throw new RangeError(
    "a number to format can have at most 1,000 characters and an exponent from -1,000 to 1,000: round it first",
  );
}

/**
 * Checks two texts that are collated.
 *
 * @throws {RangeError} if their combining marks are too much work.
 */
export function checkMarks(one: string, other: string): void {
  if (one.length + other.length <= MAX_UNSCANNED_LENGTH) return;
  if (marksWork(one) + marksWork(other) <= MAX_MARKS_WORK) return;
  throw new RangeError(
    "a text to compare has too many combining marks in a row: compare a shorter part of it, or remove /\\p{M}{30,}/gu",
  );
}

function marksWork(text: string): number {
  let work = 0;
  for (const [run] of text.matchAll(MARKS)) work += run.length ** 2;
  return work;
}

/**
 * Checks whether a date can be formatted to parts: V8 ends the whole process if the pattern of a locale and calendar has
 * a field that it does not know, as `my` with `buddhist` has, and `gd` with `gregory`. `npm run test:guests` checks that
 * none of these languages has one.
 *
 * @throws {RangeError} for other calendars and languages.
 */
export function checkParts({ locale, calendar }: Readonly<Record<string, unknown>>): void {
  const [language] = String(locale).split("-", 1);
  if (SAFE_CALENDARS.has(calendar) && SAFE_LANGUAGES.has(language)) return;
  throw new RangeError(
    `formatToParts does not support the locale '${locale}' with the calendar '${calendar}': use format, or en and gregory`,
  );
}
