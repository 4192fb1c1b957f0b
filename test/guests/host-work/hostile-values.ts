import type { Random } from "../fuzz/random.ts";

/** Characters that texts are made of: those for which Unicode, URLs, numbers or JSON have rules of their own. */
const CHARACTERS: readonly string[] = [
  "a",
  "9",
  "0",
  " ",
  "\t",
  "\n",
  "\0",
  '"',
  "\\",
  "/",
  ".",
  "-",
  "+",
  "%",
  "&",
  "=",
  "@",
  ":",
  "[",
  "]",
  "?",
  "%41",
  "%ff",
  "%e2%82",
  "xn--",
  "../",
  "%2e./",
  "a:@",
  "a&",
  "e9",
  "&&",
  "\\u0041",
  "A===",
  "é",
  "ß",
  "İ",
  "\u0001",
  "\u007f",
  "\u00ad",
  "\u0301",
  "\u0327",
  "\u0344",
  "\u0345",
  "\u05c7",
  "\u0661",
  "\u0e40",
  "\u0f52",
  "\u0f71",
  "\u0f72",
  "\u0f73",
  "\u0f75",
  "\u0f81",
  "\u0fb2",
  "\u0fd3",
  "\u1100",
  "\u1161",
  "\u11a8",
  "\u1e69",
  "\u200d",
  "\u202e",
  "\u2028",
  "\u3099",
  "\u30fc",
  "\uac01",
  "\ufb1d",
  "\ufdfa",
  "\ufeff",
  "\uffff",
  "\u4e00",
  "\ud800",
  "\udc00",
  "\u{1f600}",
  "\u{1d1ff}",
  "\u{1e8d0}",
  "\u{13435}",
  "\u{2f800}",
  "\u{10ffff}",
];

/** Those that combine with what is before them. */
const MARKS: readonly string[] = CHARACTERS.filter((each) => /^\p{M}$/u.test(each));

/** Tags of languages, with extensions that select other data. */
const LOCALES: readonly string[] = [
  "en",
  "de",
  "sv",
  "fr-CA",
  "ar",
  "ar-SA",
  "fa",
  "he",
  "hi",
  "th",
  "my",
  "km",
  "ka",
  "ja",
  "ko",
  "zh",
  "zh-Hant",
  "vi",
  "bo",
  "dz",
  "pl",
  "lt",
  "cs",
  "or",
  "ml",
  "gd",
  "ksh",
  "sc",
  "ak",
  "tr",
  "az",
  "es",
  "und",
  "xx",
  "en-u-kn-true",
  "de-u-co-phonebk",
  "zh-u-co-stroke",
  "zh-u-co-zhuyin",
  "ko-u-co-searchjl",
  "en-u-co-emoji",
  "th-u-nu-thai",
  "my-u-nu-mymrtlng",
  "en-u-ca-chinese-hc-h12",
  "he-u-ca-hebrew",
  "en-x-aaaaaaaa",
];

/** Options of each formatter, with all that a guest can select. */
const OPTIONS: Readonly<Record<string, Readonly<Record<string, readonly unknown[]>>>> = {
  Collator: {
    usage: ["sort", "search"],
    sensitivity: ["base", "accent", "case", "variant"],
    ignorePunctuation: [true, false],
    numeric: [true, false],
    caseFirst: ["upper", "lower", "false"],
    collation: Intl.supportedValuesOf("collation"),
  },
  NumberFormat: {
    style: ["decimal", "percent", "currency", "unit"],
    currency: ["USD", "JPY", "XXX", "ABC"],
    currencyDisplay: ["code", "symbol", "narrowSymbol", "name"],
    currencySign: ["standard", "accounting"],
    unit: ["kilometer-per-hour", "byte", "mile-per-gallon"],
    unitDisplay: ["short", "long", "narrow"],
    notation: ["standard", "scientific", "engineering", "compact"],
    compactDisplay: ["short", "long"],
    signDisplay: ["auto", "always", "never", "exceptZero", "negative"],
    useGrouping: [true, false, "min2", "always"],
    minimumIntegerDigits: [1, 21],
    minimumFractionDigits: [0, 20],
    maximumFractionDigits: [20, 100],
    maximumSignificantDigits: [1, 21],
    roundingPriority: ["auto", "morePrecision", "lessPrecision"],
    roundingMode: ["ceil", "floor", "halfEven"],
    trailingZeroDisplay: ["auto", "stripIfInteger"],
    numberingSystem: Intl.supportedValuesOf("numberingSystem"),
  },
  DateTimeFormat: {
    calendar: Intl.supportedValuesOf("calendar"),
    timeZone: ["UTC", "America/St_Johns", "Antarctica/Troll", "Asia/Pyongyang", "+23:59", "Europe/Dublin"],
    weekday: ["long", "short", "narrow"],
    era: ["long", "short", "narrow"],
    year: ["numeric", "2-digit"],
    month: ["numeric", "2-digit", "long", "short", "narrow"],
    day: ["numeric", "2-digit"],
    hour: ["numeric", "2-digit"],
    minute: ["numeric", "2-digit"],
    second: ["numeric", "2-digit"],
    dayPeriod: ["long", "short", "narrow"],
    fractionalSecondDigits: [1, 3],
    timeZoneName: ["long", "short", "longOffset", "longGeneric", "shortGeneric"],
    hourCycle: ["h11", "h12", "h23", "h24"],
    numberingSystem: Intl.supportedValuesOf("numberingSystem"),
  },
  PluralRules: {
    type: ["cardinal", "ordinal"],
    minimumFractionDigits: [0, 20],
    maximumFractionDigits: [20, 100],
    maximumSignificantDigits: [1, 21],
  },
  RelativeTimeFormat: {
    style: ["long", "short", "narrow"],
    numeric: ["always", "auto"],
    numberingSystem: Intl.supportedValuesOf("numberingSystem"),
  },
  ListFormat: { type: ["conjunction", "disjunction", "unit"], style: ["long", "short", "narrow"] },
};

/** Writes a text as an expression, so that a guest makes it: a text of a message would be refused for its length. */
export function textOf(random: Random, length: number): string {
  const parts: string[] = [];
  const characters = random.chance(0.3) ? MARKS : CHARACTERS;
  let left = length;
  for (let part = random.below(4); part >= 0 && left > 0; part--) {
    const word = Array.from({ length: 1 + random.below(3) }, () => random.pick(characters)).join("");
    const count = Math.floor((part === 0 ? left : random.below(left)) / word.length);
    left -= count * word.length;
    parts.push(`${JSON.stringify(word)}.repeat(${count})`);
  }
  return parts.join(" + ");
}

/** Writes bytes as an expression: patterns, beginnings of characters, compressed data, and noise. */
export function bytesOf(random: Random, length: number): string {
  const pattern = Array.from({ length: 1 + random.below(4) }, () =>
    random.pick([0, 2, 4, 10, 31, 61, 0x80, 0x8b, 0xc2, 0xd8, 0xe4, 0xef, 0xf0, 0xff, random.below(256)]),
  );
  const mask = random.pick([0, 0, 0, 1, 3, 15, 127, 255]);
  return `fill(${JSON.stringify(pattern)}, ${mask}, ${length})`;
}

/** What {@link bytesOf} uses. */
export const FILL = `function fill(pattern, mask, length) {
  let x = 1;
  const bytes = new Uint8Array(length);
  const block = Math.min(length, 65536);
  for (let at = 0; at < block; at++) {
    x = (Math.imul(x, 1103515245) + 12345) >>> 0;
    bytes[at] = pattern[at % pattern.length] ^ ((x >>> 16) & mask);
  }
  for (let at = block; at < length; at += block) bytes.set(bytes.subarray(0, Math.min(block, length - at)), at);
  return bytes;
}`;

/** Writes a number or a text with one as an expression. */
export function numberOf(random: Random): string {
  const digits = random.pick([1, 20, 300, 995, 5_000, 60_000]);
  return random.pick([
    "0",
    "-0",
    "NaN",
    "-Infinity",
    "1.7e308",
    "5e-324",
    "0.1",
    "1e21",
    "10n ** 900n",
    "-(10n ** 9000n)",
    '"1e999999999"',
    '"1e-999999999"',
    '"-1E+1000"',
    '"1e-1000 "',
    '"x"',
    '" ".repeat(900) + "1"',
    `"9".repeat(${digits})`,
    `"0x" + "f".repeat(${digits})`,
    `"0." + "3".repeat(${digits}) + "e-${digits}"`,
    `"9".repeat(${digits}) + "e" + "9".repeat(${random.pick([1, 3, 9])})`,
  ]);
}

/** Writes the milliseconds of a date as an expression. */
export function timeOf(random: Random): string {
  const time = random.pick([0, 8.64e15, -8.64e15, 4e15, -6e13, 1e12, -1]);
  return String(Math.max(-8.64e15, Math.min(8.64e15, time + (random.below(2_001) - 1_000) * 86_400_000)));
}

/** Writes a formatter as an expression. If the options exclude each other, it has none. */
export function formatterOf(random: Random, kind: string): string {
  const options: Record<string, unknown> = {};
  for (const [name, values] of Object.entries(OPTIONS[kind] ?? {})) {
    if (random.chance(0.4)) options[name] = random.pick(values);
  }
  const made = `new Intl.${kind}(${localesOf(random)}, ${JSON.stringify(options)})`;
  return `(() => { try { return ${made}; } catch { return new Intl.${kind}("en"); } })()`;
}

/** Writes one locale or many as an expression. */
export function localesOf(random: Random): string {
  if (random.chance(0.75)) return JSON.stringify(random.pick(LOCALES));
  return random.pick([
    JSON.stringify(Array.from({ length: 60 }, () => random.pick(LOCALES))),
    '["en-" + Array.from({ length: 100 }, (_, n) => "abcd" + (1000 + n)).join("-")]',
    '"en-x-" + "a-".repeat(480) + "a"',
    '"en-u-" + Array.from({ length: 100 }, (_, n) => "zabc" + (1999 - n)).join("-")',
  ]);
}
