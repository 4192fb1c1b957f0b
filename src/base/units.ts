const MILLISECONDS = new Map([
  ["ms", 1],
  ["s", 1_000],
  ["m", 60_000],
  ["min", 60_000],
  ["h", 3_600_000],
]);
const BYTES = new Map([
  ["B", 1],
  ["KiB", 1_024],
  ["MiB", 1_048_576],
  ["GiB", 1_073_741_824],
]);
const AMOUNT = /^([0-9]{1,15}(?:\.[0-9]{1,9})?) ?([A-Za-z]+)$/;

/** Describes a valid duration, for messages. */
export const DURATION_FORM = "a duration such as 250ms, 5s or 2m, or a number of milliseconds";
/** Describes a valid size, for messages. */
export const SIZE_FORM = "a size such as 512KiB, 64MiB or 1GiB, or a number of bytes";

/** Parses {@link DURATION_FORM}. Returns milliseconds, or `undefined` unless they are a whole number above 0. */
export function parseDuration(text: string | number): number | undefined {
  return parseAmount(text, MILLISECONDS);
}

/** Parses {@link SIZE_FORM}. Returns bytes, or `undefined` unless they are a whole number above 0. */
export function parseSize(text: string | number): number | undefined {
  return parseAmount(text, BYTES);
}

function parseAmount(text: string | number, units: ReadonlyMap<string, number>): number | undefined {
  const [, digits = "", unit = ""] = typeof text === "string" ? (AMOUNT.exec(text) ?? []) : [];
  const factor = units.get(unit) ?? Number.NaN;
  // A fraction such as 1.1 is not an exact double: rounding removes the error of the product.
  const amount = typeof text === "number" ? text : Number((Number(digits) * factor).toFixed(6));
  return Number.isSafeInteger(amount) && amount > 0 ? amount : undefined;
}

/** Formats milliseconds for people: `250ms`, `1.5s`, `30s`. */
export function formatDuration(ms: number): string {
  return ms < 1_000 ? `${ms}ms` : `${Number((ms / 1_000).toFixed(3))}s`;
}

/** Formats the milliseconds of a wait for a person: `5min`, `90s`, `1s`. */
export function formatMinutes(ms: number): string {
  const isMinutes = ms >= 60_000 && ms % 60_000 === 0;
  return isMinutes ? `${ms / 60_000}min` : formatDuration(ms);
}

/** Formats bytes for people: `512 B`, `64 KiB`, `1.5 MiB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`;
  const kib = bytes / 1_024;
  if (kib < 1_024) return `${Number(kib.toFixed(2))} KiB`;
  const mib = kib / 1_024;
  return mib < 1_024 ? `${Number(mib.toFixed(2))} MiB` : `${Number((mib / 1_024).toFixed(2))} GiB`;
}
