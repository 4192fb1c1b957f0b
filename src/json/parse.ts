import { ARGUMENT_BOUNDS, type JsonBounds } from "./bounds.ts";
import { locateRefusal } from "./refusal.ts";
import { locateSyntaxError } from "./syntax-error.ts";
import { type JsonObject, type JsonValue, MAX_DEPTH } from "./value.ts";

/** A tree that nobody can change, or where and why the text was refused. */
export type ParsedJson =
  | { readonly value: JsonValue }
  | {
      readonly kind: "syntax" | "refused";
      readonly reason: string;
      /** Index of a UTF-16 code unit of the text. */
      readonly position: number;
    };

/** A text up to this length cannot hold enough to matter: its structure is not looked at before parsing. */
const MAX_UNSCANNED_LENGTH = 4_096;

/** A number that is too small for a double has a negative exponent, or as many zeros as this. */
const MANY_ZEROS = "0".repeat(300);

/** Escaped halves of surrogate pairs; whole pairs too, which a closer look tells apart. */
const ESCAPED_SURROGATE = /\\u[dD][89a-fA-F]/;

/**
 * Parses JSON (RFC 8259) from someone who is not trusted. Depth, length and count are bounded before
 * `JSON.parse` sees the text. Refused are, with their position: members named `__proto__`, halves of surrogate
 * pairs, numbers too large or too small for a double, and integers that a double cannot hold exactly. Of
 * members with the same name the last one counts, as in ECMAScript; `-0` is `0`.
 */
export function parseJson(text: string, bounds: JsonBounds = ARGUMENT_BOUNDS): ParsedJson {
  if (text.length > MAX_UNSCANNED_LENGTH) {
    const refusal = locateRefusal(text, bounds, "structure");
    if (refusal !== undefined) return { kind: "refused", ...refusal };
  }
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch {
    return { kind: "syntax", ...(locateSyntaxError(text) ?? { reason: "it cannot be read", position: 0 }) };
  }
  // What `JSON.parse` made of some texts no longer tells them from honest ones: only the text does.
  const sights = typeof value === "object" && value !== null ? seal(value, 1) : sightsOf(value);
  const looksUnsafe =
    sights >= ODD ||
    (sights === ZERO && (/e-/i.test(text) || text.includes(MANY_ZEROS))) ||
    !text.isWellFormed() ||
    (text.includes("\\u") && ESCAPED_SURROGATE.test(text));
  const refusal = looksUnsafe ? locateRefusal(text, bounds, "everything") : undefined;
  if (refusal !== undefined) return { kind: "refused", ...refusal };
  return { value: value === 0 ? 0 : value };
}

/** What a tree has in it: a zero, which may have been written as another number, or what is odder still. */
type Sights = number;
const ZERO = 1;
const ODD = 2;

/** Freezes a tree from `JSON.parse`, turns `-0` into `0`, and tells what it saw. */
function seal(node: JsonObject | readonly JsonValue[], depth: number): Sights {
  if (depth > MAX_DEPTH) return ODD;
  let sights = 0;
  if (Array.isArray(node)) {
    for (let index = 0; index < node.length; index++) {
      const item: JsonValue = node[index];
      if (typeof item === "object" && item !== null) sights |= seal(item, depth + 1);
      else if (typeof item === "number") {
        sights |= sightsOf(item);
        if (item === 0) node[index] = 0;
      }
    }
  } else {
    const members = node as Record<string, JsonValue>;
    for (const key in members) {
      // What somebody gave to all objects is no member of this one.
      if (!Object.hasOwn(members, key)) continue;
      const member = members[key] as JsonValue;
      if (key === "__proto__") sights |= ODD;
      if (typeof member === "object" && member !== null) sights |= seal(member, depth + 1);
      else if (typeof member === "number") {
        sights |= sightsOf(member);
        if (member === 0) members[key] = 0;
      }
    }
  }
  Object.freeze(node);
  return sights;
}

/** Integers beyond 2⁵³ may have been written as their neighbours; zero, as a number that is almost zero. */
function sightsOf(value: JsonValue): Sights {
  if (typeof value !== "number") return 0;
  if (value === 0) return ZERO;
  return Math.abs(value) > Number.MAX_SAFE_INTEGER ? ODD : 0;
}
