import { BASE64, CHARACTER_ENCODINGS, type Encoding, HEX } from "./encodings.ts";

/** Where a text has a secret. */
export interface FoundSecret {
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
export function findSecretsIn(text: string, secrets: ReadonlyMap<string, string>): readonly FoundSecret[] {
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
