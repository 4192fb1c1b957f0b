import { LruMap } from "../../../base/lru-map.ts";
import type { JsonValue } from "../../../json/value.ts";

/**
 * What bounds the work of a formatter, which nothing can interrupt. The length alone does not: of what Node.js was seen
 * to do with values of a few characters, some took minutes.
 */

/**
 * Maximum number of characters of a number, and the largest exponent. `1e-999999999` in compact notation
 * would take a minute.
 */
const MAX_DIGITS = 1_000;

/**
 * Maximum work that the combining marks of two texts may be. To collate a run of marks takes time in
 * proportion to the square of its length, so this is the sum of these squares: a run of 1,000 marks, or 1,000
 * runs of 30.
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

/** The formatters of `Intl` that a guest can use, with the methods that take and return plain data. */
export const FORMATTER_METHODS: Readonly<Record<string, readonly string[]>> = {
  NumberFormat: ["format", "formatToParts"],
  DateTimeFormat: ["format", "formatToParts", "formatRange", "formatRangeToParts"],
  PluralRules: ["select"],
  RelativeTimeFormat: ["format", "formatToParts"],
  ListFormat: ["format", "formatToParts"],
  Collator: ["compare"],
};

/** Maximum number of characters of locales and options. */
const MAX_SETTING_LENGTH = 1_024;

/** Maximum number of characters of what is formatted, with two for each item of a list. */
const MAX_ARGUMENT_LENGTH = 65_536;

/** How many formatters a thread caches. They have no state, so that all guests can share them. */
const MAX_CACHED = 32;

type Formatter = Readonly<Record<string, (...args: unknown[]) => unknown>>;

const formatters = new LruMap<string, Formatter>(MAX_CACHED, { sizeOf: () => 1 });

/**
 * Uses a formatter for a guest. The default locale is `en-US` and the default time zone `UTC`, whatever the host's are.
 *
 * @param locales A list of tags as JSON. Untrusted, as are the other parameters.
 * @param options The formatter's options as JSON.
 * @throws {RangeError} as the formatter does.
 * @throws {TypeError} as the formatter does.
 */
export function useFormatter(
  kind: unknown,
  locales: unknown,
  options: unknown,
  method: unknown,
  args: readonly unknown[],
): JsonValue {
  if (typeof kind !== "string" || typeof locales !== "string" || typeof options !== "string") return null;
  if (locales.length + options.length > MAX_SETTING_LENGTH) {
    throw new RangeError("locales and options can have at most 1,024 characters");
  }
  checkLength(args);
  const tags = readLocales(locales);
  if (kind === "Intl") return Intl.getCanonicalLocales(tags);
  if (!Object.hasOwn(FORMATTER_METHODS, kind) || typeof method !== "string") return null;
  const type = Intl[kind as "NumberFormat"];
  if (method === "supportedLocalesOf") return type.supportedLocalesOf(tags);
  const formatter = formatterOf(kind, tags, options);
  if (method === "resolvedOptions") return resolved(formatter);
  if (!FORMATTER_METHODS[kind]?.includes(method)) return null;
  if (kind === "DateTimeFormat" && method.endsWith("ToParts")) checkParts(resolved(formatter));
  return formatter[method]?.(...boundedArguments(kind, args)) as JsonValue;
}

/** Returns the arguments of a method, if they are not too much work. */
function boundedArguments(kind: string, args: readonly unknown[]): readonly unknown[] {
  switch (kind) {
    case "NumberFormat": {
      const [text, isBigInt] = args;
      checkNumber(String(text));
      return [isBigInt === true ? BigInt(String(text)) : text];
    }
    case "Collator":
      checkMarks(String(args[0]), String(args[1]));
      return args;
    case "ListFormat":
      // The items of a list are sent one by one.
      return [args];
    default:
      return args;
  }
}

function checkLength(args: readonly unknown[]): void {
  let length = 0;
  for (const arg of args) length += typeof arg === "string" ? arg.length + 2 : 2;
  if (length > MAX_ARGUMENT_LENGTH) {
    throw new RangeError("a value to format or compare can have at most 65,536 characters: use a part of it");
  }
}

function resolved(formatter: Formatter): Readonly<Record<string, JsonValue>> {
  return formatter["resolvedOptions"]?.() as Readonly<Record<string, JsonValue>>;
}

/** Reads a list of tags. `Intl` would also accept an object, and read as many members as its `length` says. */
function readLocales(locales: string): readonly string[] {
  const tags: unknown = JSON.parse(locales);
  if (Array.isArray(tags) && tags.every((tag) => typeof tag === "string")) return tags;
  throw new TypeError("the locales must be a list of tags");
}

function formatterOf(kind: string, tags: readonly string[], options: string): Formatter {
  const key = JSON.stringify([kind, tags, options]);
  const known = formatters.get(key);
  if (known !== undefined) return known;
  const settings: Record<string, unknown> = JSON.parse(options);
  const type = Intl[kind as "NumberFormat"] as new (locales: string[], options: object) => unknown;
  const made = new type(
    // The default of the host would follow otherwise.
    [...tags, "en-US"],
    kind === "DateTimeFormat" ? { timeZone: "UTC", ...settings } : settings,
  ) as Formatter;
  formatters.set(key, made);
  return made;
}

/**
 * Checks a number that is written as text.
 *
 * @throws {RangeError} if it has too many digits, or too large an exponent.
 */
function checkNumber(text: string): void {
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
function checkMarks(one: string, other: string): void {
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
 * Checks whether a date can be formatted to parts: V8 ends the whole process if the pattern of a locale and
 * calendar has a field that it does not know, as `my` with `buddhist` has, and `gd` with `gregory`. `npm run
 * test:guests` checks that these languages have no such pattern.
 *
 * @throws {RangeError} for other calendars and languages.
 */
function checkParts({ locale, calendar }: Readonly<Record<string, unknown>>): void {
  const [language] = String(locale).split("-", 1);
  if (SAFE_CALENDARS.has(calendar) && SAFE_LANGUAGES.has(language)) return;
  throw new RangeError(
    `formatToParts does not support the locale '${locale}' with the calendar '${calendar}': use format, or en and gregory`,
  );
}
