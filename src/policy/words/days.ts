const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const MONTH = `(${[
  ...["jan(?:uary)?", "feb(?:ruary)?", "mar(?:ch)?", "apr(?:il)?", "may", "june?", "july?", "aug(?:ust)?"],
  ...["sept?(?:ember)?", "oct(?:ober)?", "nov(?:ember)?", "dec(?:ember)?"],
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

/** Returns the day of a date or time, as {@link daysIn} writes it, with its year and without; `undefined` for others. */
export function dayOf(value: string): readonly string[] | undefined {
  const [, year, month, day] = TIME.exec(value) ?? [];
  return year === undefined ? undefined : [`${year}-${month}-${day}`, `${month}-${day}`];
}

/**
 * Returns the days that a text names, as `2024-05-15`, or as `05-15` if it names no year. It knows ISO 8601 and the
 * English names of months, and not `5/6/2024`, which two countries read in two ways.
 */
export function daysIn(text: string): ReadonlySet<string> {
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
