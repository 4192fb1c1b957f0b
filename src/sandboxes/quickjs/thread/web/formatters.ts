import { LruMap } from "../../../../base/lru-map.ts";
import type { JsonValue } from "../../../../json/value.ts";
import { checkMarks, checkNumber, checkParts } from "./formatter-bounds.ts";

/** The formatters of `Intl` that a guest can use, with the methods that take and return plain data. */
export const FORMATTER_METHODS: Readonly<Record<string, readonly string[]>> = {
  NumberFormat: ["format", "formatToParts"],
  DateTimeFormat: ["format", "formatToParts", "formatRange", "formatRangeToParts"],
  PluralRules: ["select"],
  RelativeTimeFormat: ["format", "formatToParts"],
  ListFormat: ["format", "formatToParts"],
  Collator: ["compare"],
};

/** The most characters of locales and options. */
const MAX_SETTING_LENGTH = 1_024;

/** The most characters of what is formatted, with two for each item of a list. */
const MAX_ARGUMENT_LENGTH = 65_536;

/** How many formatters a thread keeps. They have no state, so that all guests can share them. */
const MAX_KEPT = 32;

type Formatter = Readonly<Record<string, (...args: unknown[]) => unknown>>;

const kept = new LruMap<string, Formatter>(MAX_KEPT, { sizeOf: () => 1 });

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
  const known = kept.get(key);
  if (known !== undefined) return known;
  const settings: Record<string, unknown> = JSON.parse(options);
  const type = Intl[kind as "NumberFormat"] as new (locales: string[], options: object) => unknown;
  const made = new type(
    // The default of the host would follow otherwise.
    [...tags, "en-US"],
    kind === "DateTimeFormat" ? { timeZone: "UTC", ...settings } : settings,
  ) as Formatter;
  kept.set(key, made);
  return made;
}
