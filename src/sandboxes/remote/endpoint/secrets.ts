import { freezeJson, isJsonObject, type JsonValue } from "../../../json/value.ts";

/** Returns the value of a secret; `undefined` if it has none. */
export type SecretSource = (name: string) => string | undefined | Promise<string | undefined>;

/** Returns the environment variable of the same name. */
export const environmentSecrets: SecretSource = (name) =>
  Object.hasOwn(process.env, name) ? process.env[name] : undefined;

/** The secrets of one call, by name. */
export type Secrets = ReadonlyMap<string, string>;

/** The secrets of a call without secrets. */
export const NO_SECRETS: Secrets = new Map();

/** A secret has no value. `message` is for the operator. */
export class SecretError extends Error {
  override readonly name = "SecretError";
}

/** The grant does not name a secret. `message` is for the operator. */
export class SecretDeniedError extends Error {
  override readonly name = "SecretDeniedError";
}

/**
 * Looks up the secrets that a tool needs.
 *
 * @param granted The names in the grant. If a secret is not granted, no secret is looked up.
 * @throws {SecretDeniedError} if a secret is not granted.
 * @throws {SecretError} if a secret has no value.
 */
export async function findSecrets(
  names: readonly string[],
  granted: readonly string[],
  source: SecretSource,
): Promise<Secrets> {
  const missing = names.find((name) => !granted.includes(name));
  if (missing !== undefined) {
    throw new SecretDeniedError(`the grant does not name the secret '${missing}' (secrets: [${missing}])`);
  }
  const found = await Promise.all(names.map(async (name) => [name, await readSecret(name, source)] as const));
  return new Map(found);
}

async function readSecret(name: string, source: SecretSource): Promise<string> {
  let value: unknown;
  try {
    value = await source(name);
  } catch {
    // The error is dropped: it may quote the secret.
    throw new SecretError(`the secret '${name}' cannot be read`);
  }
  if (typeof value !== "string" || value === "") throw new SecretError(`the secret '${name}' has no value`);
  return value;
}

/** Replaces secrets in a text, as they are or in any usual encoding, with their names. */
export function redactText(text: string, secrets: Secrets): string {
  if (secrets.size === 0) return text;
  const found = findSecretsIn(text, secrets);
  if (found.length === 0) return text;
  // Overlapping secrets are replaced as one, with the name of the longest.
  const ordered = found.toSorted((one, other) => one.start - other.start || other.end - one.end);
  let redacted = "";
  let written = 0;
  for (const { name, start, end } of ordered) {
    if (end <= written) continue;
    if (start >= written) redacted += `${text.slice(written, start)}[secret ${name}]`;
    written = end;
  }
  return redacted + text.slice(written);
}

/** Replaces secrets in a body that may be JSON, however it encodes them. */
export function redactBody(body: string, secrets: Secrets): string {
  if (secrets.size === 0) return body;
  let value: JsonValue;
  try {
    value = freezeJson(JSON.parse(body) as JsonValue);
  } catch {
    return redactText(body, secrets);
  }
  const redacted = redactJson(value, secrets);
  return redacted === value ? body : JSON.stringify(redacted);
}

/** Applies {@link redactText} to a frozen value, with its member names. Returns the same value if nothing changes. */
export function redactJson(value: JsonValue, secrets: Secrets): JsonValue {
  if (secrets.size === 0) return value;
  if (typeof value === "string") return redactText(value, secrets);
  if (typeof value !== "object" || value === null) return value;
  let isChanged = false;
  const redact = <T extends JsonValue>(old: T): T => {
    const redacted = redactJson(old, secrets);
    if (redacted !== old) isChanged = true;
    return redacted as T;
  };
  const copy = isJsonObject(value)
    ? Object.fromEntries(Object.entries(value).map(([key, member]) => [redact(key), redact(member ?? null)]))
    : (value as readonly JsonValue[]).map(redact);
  return isChanged ? Object.freeze(copy) : value;
}

/** An encoding in which a peer can repeat a text: how each encoded character is written, and what it stands for. */
interface Encoding {
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
const CHARACTER_ENCODINGS: readonly Encoding[] = [
  { sign: /%/, encoded: PERCENT, decode: decodePercent },
  { sign: /\+/, encoded: PERCENT_OR_PLUS, decode: (match) => (match === "+" ? " " : decodePercent(match)) },
  { sign: /\\/, encoded: JSON_ESCAPE, decode: decodeJsonEscape },
  { sign: /&/, encoded: HTML_REFERENCE, decode: decodeReference },
];

/** Base64 in one alphabet and without line breaks (RFC 4648, sections 4 and 5; RFC 2045, section 6.8). */
const BASE64: Encoding = {
  sign: /[-_\s]/,
  encoded: /[-_]|\s+/g,
  decode: (match) => (match === "-" ? "+" : match === "_" ? "/" : ""),
};

/** Hexadecimal digits in lower case, without what some programs write between bytes. */
const HEX: Encoding = {
  sign: /[A-F:\s]/,
  encoded: /[A-F]|[:\s]+/g,
  decode: (match) => (/[A-F]/.test(match) ? match.toLowerCase() : ""),
};

/** Where a text has a secret. */
interface FoundSecret {
  readonly name: string;
  readonly start: number;
  /** After its last character. */
  readonly end: number;
}

/** A text to look for, which gives a secret away. */
interface Needle {
  readonly name: string;
  readonly text: string;
}

/** Shorter forms would be found in any text. */
const MIN_BINARY_FORM = 8;

/** How many encodings of characters are undone, one within the other: a URL can be the parameter of another one. */
const MAX_DEPTH = 2;

/**
 * Finds secrets in a text, as they are and in the encodings of URLs, forms, JSON, HTML, base64 and hexadecimal digits, each
 * in any of its variants. Encodings of characters are also found within one another. Takes linear time for each secret.
 */
function findSecretsIn(text: string, secrets: ReadonlyMap<string, string>): readonly FoundSecret[] {
  const plain = [...secrets].map(([name, value]) => ({ name, text: value }));
  const base64 = [...secrets].flatMap(([name, value]) =>
    base64Forms(value).map((form) => ({ name, text: form })),
  );
  const hex = [...secrets].map(([name, value]) => ({ name, text: Buffer.from(value).toString("hex") }));
  const found = occurrencesWithin(text, plain, MAX_DEPTH);
  found.push(...binaryOccurrences(text, BASE64, base64), ...binaryOccurrences(text, HEX, hex));
  return found;
}

/** Finds texts as they are, and within so many encodings of characters. */
function occurrencesWithin(text: string, needles: readonly Needle[], depth: number): FoundSecret[] {
  const found = occurrences(text, needles);
  if (depth === 0) return found;
  for (const encoding of CHARACTER_ENCODINGS)
    found.push(...encodedOccurrences(text, encoding, needles, depth - 1));
  return found;
}

/** Base64 that stands in a URL or in JSON has some of its characters encoded there. */
function binaryOccurrences(text: string, encoding: Encoding, forms: readonly Needle[]): FoundSecret[] {
  const needles = forms.filter((form) => form.text.length >= MIN_BINARY_FORM);
  if (needles.length === 0) return [];
  return [...occurrencesWithin(text, needles, 1), ...encodedOccurrences(text, encoding, needles, 0)];
}

/** The base64 digits that depend on a secret alone, wherever in the encoded bytes it begins. */
function base64Forms(value: string): readonly string[] {
  const bytes = Buffer.from(value);
  return [0, 1, 2].map((offset) => {
    const encoded = Buffer.concat([Buffer.alloc(offset), bytes]).toString("base64");
    const first = Math.ceil((offset * 8) / 6);
    return encoded.slice(first, Math.floor(((offset + bytes.length) * 8) / 6));
  });
}

/** @param depth How many encodings there may be within this one. */
function encodedOccurrences(
  text: string,
  encoding: Encoding,
  needles: readonly Needle[],
  depth: number,
): FoundSecret[] {
  if (!encoding.sign.test(text)) return [];
  const decoded = text.replace(encoding.encoded, encoding.decode);
  if (decoded === text) return [];
  const found = occurrencesWithin(decoded, needles, depth);
  if (found.length === 0) return [];
  const positions = positionsIn(text, encoding, decoded.length);
  return found.map(({ name, start, end }) => ({
    name,
    start: positions[start] ?? 0,
    // What stands for nothing belongs to the character before it.
    end: positions[end] ?? text.length,
  }));
}

/** Where each character of the decoded text begins in the encoded one. */
function positionsIn(text: string, { encoded, decode }: Encoding, length: number): Uint32Array {
  const positions = new Uint32Array(length + 1);
  let to = 0;
  let from = 0;
  for (const { 0: match, index } of text.matchAll(encoded)) {
    while (from < index) positions[to++] = from++;
    for (let unit = decode(match).length; unit > 0; unit -= 1) positions[to++] = from;
    from = index + match.length;
  }
  while (from <= text.length) positions[to++] = from++;
  return positions;
}

function occurrences(text: string, needles: readonly Needle[]): FoundSecret[] {
  const found: FoundSecret[] = [];
  for (const { name, text: needle } of needles) {
    let start = text.indexOf(needle);
    while (start !== -1) {
      found.push({ name, start, end: start + needle.length });
      start = text.indexOf(needle, start + needle.length);
    }
  }
  return found;
}

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
