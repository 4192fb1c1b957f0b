const MILLISECONDS = new Map([
  ["ms", 1],
  ["s", 1_000],
  ["m", 60_000],
  ["h", 3_600_000],
]);
const BYTES = new Map([
  ["B", 1],
  ["KiB", 1_024],
  ["MiB", 1_048_576],
  ["GiB", 1_073_741_824],
]);
const AMOUNT = /^([0-9]{1,15}(?:\.[0-9]{1,9})?) ?([A-Za-z]+)$/;

/** What a duration looks like, for messages. */
export const DURATION_FORM = "a duration such as 250ms, 5s or 2m, or a number of milliseconds";
/** What a size looks like, for messages. */
export const SIZE_FORM = "a size such as 512KiB, 64MiB or 1GiB, or a number of bytes";

/** Reads a duration as {@link DURATION_FORM} has it, in ms; `undefined` unless it is a whole number above 0. */
export function parseDuration(text: string | number): number | undefined {
  return parseAmount(text, MILLISECONDS);
}

/** Reads a size as {@link SIZE_FORM} has it, in bytes; `undefined` unless it is a whole number above 0. */
export function parseSize(text: string | number): number | undefined {
  return parseAmount(text, BYTES);
}

function parseAmount(text: string | number, units: ReadonlyMap<string, number>): number | undefined {
  const [, digits = "", unit = ""] = typeof text === "string" ? (AMOUNT.exec(text) ?? []) : [];
  const factor = units.get(unit) ?? Number.NaN;
  // A decimal fraction such as 1.1 has no exact double; a whole number of units below a billionth is one.
  const amount = typeof text === "number" ? text : Number((Number(digits) * factor).toFixed(6));
  return Number.isSafeInteger(amount) && amount > 0 ? amount : undefined;
}
