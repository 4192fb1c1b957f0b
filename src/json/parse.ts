import { DUPLICATE_KEY, type DuplicateKeys, hasDuplicateKeys, locateDuplicateKey } from "./duplicate-keys.ts";
import { ARGUMENT_BOUNDS, type JsonBounds, locateRefusal } from "./refusal.ts";
import { locateSyntaxError } from "./syntax-error.ts";
import { type JsonObject, type JsonValue, MAX_DEPTH } from "./value.ts";

/** A frozen tree, or where and why the text was refused. */
export type ParsedJson =
  | { readonly value: JsonValue }
  | {
      readonly kind: "syntax" | "refused";
      readonly reason: string;
      /** Index of a UTF-16 code unit of the text. */
      readonly position: number;
    };

/** Texts up to this length are too small to be dangerous: their structure is not checked before parsing. */
const MAX_UNSCANNED_LENGTH = 4_096;

/** A number that is too small for a double has a negative exponent or at least this many zeros. */
const MANY_ZEROS = "0".repeat(300);

const COLON = 0x3a;
const BACKSLASH = 0x5c;
const FIRST_SURROGATE = 0xd800;

/** Matches a number that may have more digits than a double, also as a part of a string: a closer look follows. */
const MANY_DIGITS = /\d[\d.]{15}|[eE]-3\d\d/;

/** Matches escaped surrogates, paired or not: a closer look follows. */
const ESCAPED_SURROGATE = /\\u[dD][89a-fA-F]/;

/**
 * Parses untrusted JSON (RFC 8259). Depth, length and counts are checked before `JSON.parse` sees the text. It also
 * refuses members named `__proto__`, unpaired surrogates, numbers that are too large or too small for a double, and
 * integers that a double cannot represent exactly, and reports their position. `-0` becomes `0`.
 *
 * @param duplicateKeys Default: `"refuse"`, since the text may have been read in another way elsewhere.
 */
export function parseJson(
  text: string,
  bounds: JsonBounds = ARGUMENT_BOUNDS,
  duplicateKeys: DuplicateKeys = "refuse",
): ParsedJson {
  if (text.length > MAX_UNSCANNED_LENGTH) {
    const refusal = locateRefusal(text, bounds, "structure");
    if (refusal !== undefined) return { kind: "refused", ...refusal };
  }
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch {
    return { kind: "syntax", ...(locateSyntaxError(text) ?? { reason: "it cannot be parsed", position: 0 }) };
  }
  const sights = seal(value);
  const hasManyDigits = bounds.decimals === "exact" && MANY_DIGITS.test(text);
  if (!hasManyDigits && !sights.isOdd && !sights.hasZero && isPlain(text, sights.members)) return { value };
  const refusal =
    hasManyDigits || looksUnsafe(text, sights) ? locateRefusal(text, bounds, "everything") : undefined;
  if (refusal !== undefined) return { kind: "refused", ...refusal };
  if (duplicateKeys === "refuse" && hasDuplicateKeys(text, sights.members)) {
    return { kind: "refused", reason: DUPLICATE_KEY, position: locateDuplicateKey(text) ?? 0 };
  }
  return { value: value === 0 ? 0 : value };
}

/** Texts up to this length are scanned here: the calls of V8's functions would take longer. */
const MAX_SHORT_LENGTH = 128;

/** Whether a text is short, has no escapes and surrogates, and no more colons than members. */
function isPlain(text: string, members: number): boolean {
  if (text.length > MAX_SHORT_LENGTH) return false;
  let colons = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === COLON) colons++;
    else if (unit === BACKSLASH || unit >= FIRST_SURROGATE) return false;
  }
  return colons <= members;
}

/**
 * Whether a text needs a closer look: some texts parse to the same value as harmless ones, and only the text shows
 * them apart.
 *
 * @param sights What the parsed value contains.
 */
export function looksUnsafe(text: string, sights: Sights): boolean {
  return (
    sights.isOdd ||
    (sights.hasZero && (/e-/i.test(text) || text.includes(MANY_ZEROS))) ||
    !text.isWellFormed() ||
    ESCAPED_SURROGATE.test(text)
  );
}

/** What a parsed tree contains. */
export interface Sights {
  /** The number of members of all objects. */
  members: number;
  /** Whether there is a zero, which may have been a number that is too small for a double. */
  hasZero: boolean;
  /** Whether there is anything that is more suspicious. */
  isOdd: boolean;
}

/** Freezes a tree from `JSON.parse`, turns `-0` in it into `0`, and returns what it contains. */
export function seal(value: JsonValue): Sights {
  const sights = { members: 0, hasZero: false, isOdd: false };
  if (typeof value === "object" && value !== null) sealNode(value, 1, sights);
  else if (typeof value === "number") see(value, sights);
  return sights;
}

function sealNode(node: JsonObject | readonly JsonValue[], depth: number, sights: Sights): void {
  if (depth > MAX_DEPTH) {
    sights.isOdd = true;
    return;
  }
  if (Array.isArray(node)) {
    for (let index = 0; index < node.length; index++) {
      const item: JsonValue = node[index];
      if (typeof item === "object" && item !== null) sealNode(item, depth + 1, sights);
      else if (typeof item === "number") {
        see(item, sights);
        if (item === 0) node[index] = 0;
      }
    }
  } else {
    const members = node as Record<string, JsonValue>;
    for (const key in members) {
      // Skips enumerable properties that were added to `Object.prototype`.
      if (!Object.hasOwn(members, key)) continue;
      sights.members++;
      const member = members[key] as JsonValue;
      if (key === "__proto__") sights.isOdd = true;
      if (typeof member === "object" && member !== null) sealNode(member, depth + 1, sights);
      else if (typeof member === "number") {
        see(member, sights);
        if (member === 0) members[key] = 0;
      }
    }
  }
  Object.freeze(node);
}

/** An integer beyond 2⁵³ may be a rounded neighbour, and a zero may be a number that was too small. */
function see(value: number, sights: Sights): void {
  if (value === 0) sights.hasZero = true;
  else if (Math.abs(value) > Number.MAX_SAFE_INTEGER) sights.isOdd = true;
}
