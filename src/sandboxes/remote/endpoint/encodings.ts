/** An encoding in which a peer can repeat a text: how each encoded character is written, and what it stands for. */
export interface Encoding {
  /** Whether a text can have encoded characters, which is cheaper to find out than what they are. */
  readonly sign: RegExp;
  /** Matches one encoded character. */
  readonly encoded: RegExp;
  /** Returns what a match stands for, or the match if it stands for nothing. */
  decode(match: string): string;
}

/** One character in UTF-8, each byte as `%` and two hexadecimal digits (RFC 3986, section 2.1). */
const PERCENT =
  /%[0-7][0-9a-f]|%[cd][0-9a-f]%[89ab][0-9a-f]|%e[0-9a-f](?:%[89ab][0-9a-f]){2}|%f[0-7](?:%[89ab][0-9a-f]){3}/gi;

const PERCENT_OR_PLUS = new RegExp(`\\+|${PERCENT.source}`, "gi");

const JSON_ESCAPE = /\\(?:u[0-9a-f]{4}|[^u])/gi;

/** The characters that JSON escapes with a letter (RFC 8259, section 7). */
const JSON_LETTERS: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

const HTML_REFERENCE = /&(?:#[0-9]{1,9}|#x[0-9a-f]{1,8}|amp|lt|gt|quot|apos);?/gi;

const HTML_NAMES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/** The encodings of URLs, forms, JSON and HTML. */
export const CHARACTER_ENCODINGS: readonly Encoding[] = [
  { sign: /%/, encoded: PERCENT, decode: decodePercent },
  { sign: /\+/, encoded: PERCENT_OR_PLUS, decode: (match) => (match === "+" ? " " : decodePercent(match)) },
  { sign: /\\/, encoded: JSON_ESCAPE, decode: decodeJsonEscape },
  { sign: /&/, encoded: HTML_REFERENCE, decode: decodeReference },
];

/** Base64 in one alphabet and without line breaks (RFC 4648, sections 4 and 5; RFC 2045, section 6.8). */
export const BASE64: Encoding = {
  sign: /[-_\s]/,
  encoded: /[-_]|\s+/g,
  decode: (match) => (match === "-" ? "+" : match === "_" ? "/" : ""),
};

/** Hexadecimal digits in lower case, without what some programs write between bytes. */
export const HEX: Encoding = {
  sign: /[A-F:\s]/,
  encoded: /[A-F]|[:\s]+/g,
  decode: (match) => (/[A-F]/.test(match) ? match.toLowerCase() : ""),
};

function decodePercent(match: string): string {
  try {
    return decodeURIComponent(match);
  } catch {
    // Not the shortest form of a character, for example.
    return match;
  }
}

function decodeJsonEscape(match: string): string {
  const character = match.slice(1);
  if (character.length > 1) return String.fromCharCode(Number.parseInt(character.slice(1), 16));
  return JSON_LETTERS[character] ?? character;
}

function decodeReference(match: string): string {
  const name = match.replace(/^&|;$/g, "").toLowerCase();
  if (!name.startsWith("#")) return HTML_NAMES[name] ?? match;
  const code = name[1] === "x" ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
  return code <= 0x10ffff ? String.fromCodePoint(code) : match;
}
