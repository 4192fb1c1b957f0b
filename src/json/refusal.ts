import { MAX_DEPTH } from "./value.ts";

/** How large a document may be. Larger ones are refused before they cost much. */
export interface JsonBounds {
  /** The maximum length of a text, and of all strings of a tree together, in UTF-16 code units. */
  readonly length: number;
  /** The maximum number of values of every kind: items, members and the root. */
  readonly values: number;
  /** The maximum number of members of all objects together. Members cost the most to read. */
  readonly members: number;
  /** The maximum number of different member names. Default: no bound besides `members`. */
  readonly names?: number;
  /**
   * What happens to a number with a fraction or an exponent of which a double cannot represent every digit. `exact`: the text is
   * refused. Default: it is rounded, as usual in JSON.
   */
  readonly decimals?: "exact";
}

/** The bounds of a call's arguments. Depth is bounded by `MAX_DEPTH`. */
export const ARGUMENT_BOUNDS: JsonBounds = Object.freeze({
  length: 2 * 1_024 * 1_024,
  values: 100_000,
  members: 20_000,
});

/** Where and why a text is refused even if it is valid JSON. */
export interface JsonRefusal {
  /** Such as "nested deeper than 256 levels". */
  readonly reason: string;
  /** Index of the offending UTF-16 code unit. */
  readonly position: number;
}

/** What to check: only the bounds, which works for any text; in valid JSON, the numbers too; or everything. */
export type RefusalScope = "structure" | "numbers" | "everything";

const NUMBER = /[-\d][\d.eE+-]*/y;
const INTEGER = /^-?\d+$/;
/** Maximum number of significant digits that are needed to distinguish two doubles. */
const MAX_DIGITS = 17;
const BACKSLASH = 0x5c;
const QUOTE = 0x22;
const SPACE = 0x20;
const MINUS = 0x2d;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;
const LETTER_D = 0x64;
const LETTER_U = 0x75;
/** The bit that digits and small letters have, and capital letters do not. */
const LOWER_CASE = 0x20;
const FIRST_HIGH = 0xd800;
const FIRST_LOW = 0xdc00;
const LAST_LOW = 0xdfff;
/** `__proto__` with each of its nine characters written as `\uXXXX`. */
const MAX_ESCAPED_PROTO = 9 * 6;

/**
 * Finds the first reason to refuse a JSON text: an exceeded bound or, in a text that `JSON.parse` accepted, a number
 * that a double cannot represent, an unpaired surrogate or a member named `__proto__`. One pass, no recursion.
 */
export function locateRefusal(
  text: string,
  bounds: JsonBounds,
  scope: RefusalScope,
): JsonRefusal | undefined {
  if (text.length > bounds.length)
    return { reason: `longer than ${bounds.length} characters`, position: bounds.length };
  const isOpenObject: boolean[] = [];
  let values = 1;
  let members = 0;
  let isMemberName = false;
  const names = bounds.names === undefined ? undefined : new Set<string>();
  for (let position = 0; position < text.length; position++) {
    switch (text[position]) {
      case '"': {
        const end = closingQuote(text, position);
        // An unterminated string is a syntax error, which `locateSyntaxError` reports.
        if (end === -1) return undefined;
        const refusal = scope === "everything" ? refuseString(text, position, end, isMemberName) : undefined;
        if (refusal !== undefined) return refusal;
        if (isMemberName && names?.add(text.slice(position + 1, end)).size === (bounds.names ?? 0) + 1) {
          return { reason: `more than ${bounds.names} different member names`, position };
        }
        isMemberName = false;
        position = end;
        break;
      }
      case "{":
      case "[":
        if (isOpenObject.length >= MAX_DEPTH) {
          return { reason: `nested deeper than ${MAX_DEPTH} levels`, position };
        }
        isMemberName = text[position] === "{";
        isOpenObject.push(isMemberName);
        // Counts the first item or member. Empty ones count too, which tightens the bound only a little.
        if (++values > bounds.values) return { reason: `more than ${bounds.values} values`, position };
        break;
      case "}":
      case "]":
        isOpenObject.pop();
        break;
      case ",":
        isMemberName = isOpenObject.at(-1) === true;
        if (++values > bounds.values) return { reason: `more than ${bounds.values} values`, position };
        break;
      case ":":
        if (++members > bounds.members) return { reason: `more than ${bounds.members} members`, position };
        break;
      default: {
        const unit = text.charCodeAt(position);
        if (unit <= SPACE) {
          while (text.charCodeAt(position + 1) <= SPACE) position++;
          break;
        }
        if (scope === "structure" || (unit !== MINUS && (unit < DIGIT_0 || unit > DIGIT_9))) break;
        NUMBER.lastIndex = position;
        const literal = NUMBER.exec(text)?.[0];
        if (literal === undefined) break;
        const reason =
          refuseNumber(literal) ?? (bounds.decimals === "exact" ? refuseRounding(literal) : undefined);
        if (reason !== undefined) return { reason, position };
        position += literal.length - 1;
      }
    }
  }
  return undefined;
}

function refuseString(
  text: string,
  start: number,
  end: number,
  isMemberName: boolean,
): JsonRefusal | undefined {
  const inside = text.slice(start + 1, end);
  const unpaired = locateUnpaired(inside);
  if (unpaired !== undefined) return { reason: "an unpaired surrogate", position: start + 1 + unpaired };
  if (isMemberName && inside.length <= MAX_ESCAPED_PROTO && JSON.parse(`"${inside}"`) === "__proto__") {
    return { reason: "a member named '__proto__' is not allowed", position: start };
  }
  return undefined;
}

/** Returns the index of the first unpaired surrogate, raw or escaped. */
function locateUnpaired(inside: string): number | undefined {
  if (inside.isWellFormed() && !inside.includes("\\u")) return undefined;
  let high: number | undefined;
  for (let at = 0; at < inside.length; ) {
    const start = at;
    let unit = inside.charCodeAt(at++);
    if (unit === BACKSLASH) {
      unit = 0;
      if (inside.charCodeAt(at++) === LETTER_U) {
        unit = surrogateAt(inside, at);
        at += 4;
      }
    }
    const isLow = unit >= FIRST_LOW && unit <= LAST_LOW;
    if (isLow !== (high !== undefined)) return high ?? start;
    high = unit >= FIRST_HIGH && unit < FIRST_LOW ? start : undefined;
  }
  return high;
}

/** Returns the first surrogate of the kind of four hexadecimal digits, D800 or DC00; 0 if they are none. */
function surrogateAt(inside: string, at: number): number {
  if ((inside.charCodeAt(at) | LOWER_CASE) !== LETTER_D) return 0;
  const second = inside.charCodeAt(at + 1) | LOWER_CASE;
  if (second < DIGIT_0 + 8) return 0;
  return second < LETTER_D - 1 ? FIRST_HIGH : FIRST_LOW;
}

/**
 * Returns why a number of a JSON text is refused; `undefined` if it is not.
 *
 * Integers must be retained to the last digit, as they are often identifiers. Fractions are rounded to the nearest double,
 * as usual in JSON. Integers in the form in which ECMAScript serialises a double are accepted.
 *
 * @returns why a double cannot represent the number, or `undefined` if it can.
 */
export function refuseNumber(literal: string): string | undefined {
  const value = Number(literal);
  if (!Number.isFinite(value)) return "a number that is too large for a double";
  if (value === 0) {
    const isZero = !/[1-9]/.test(literal.replace(/[eE].*/, ""));
    return isZero ? undefined : "a number that is too small for a double";
  }
  if (Number.isSafeInteger(value) || !INTEGER.test(literal)) return undefined;
  if (String(value) === literal || BigInt(literal) === BigInt(value)) return undefined;
  return "an integer that a double cannot hold exactly (send it as a string)";
}

/**
 * Returns why a number is refused where no digit may be lost. Up to 17 digits of a decimal are enough to name a double: programs
 * that write all of them, where fewer would do, lose nothing.
 */
function refuseRounding(literal: string): string | undefined {
  if (INTEGER.test(literal)) return undefined;
  const value = Number(literal);
  const decimal = decimalOf(literal);
  const { length } = decimal.digits;
  const isSame = [String(value), value.toPrecision(Math.min(Math.max(length, 1), MAX_DIGITS))].some(
    (text) => {
      const { digits, exponent } = decimalOf(text);
      return digits === decimal.digits && exponent === decimal.exponent;
    },
  );
  return isSame ? undefined : "a number with more digits than a double holds (send it as a string)";
}

/** The digits of a number without zeros at both ends, and the power of ten of the last one. */
function decimalOf(literal: string): { readonly digits: string; readonly exponent: number } {
  const [mantissa = "", power = "0"] = literal
    .toLowerCase()
    .replace("-", (sign, at) => (at === 0 ? "" : sign))
    .split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  const all = (whole + fraction).replace(/^0+/, "");
  const digits = all.replace(/0+$/, "");
  return {
    digits,
    exponent: digits === "" ? 0 : Number(power) - fraction.length + all.length - digits.length,
  };
}

/**
 * Finds the quote that closes a JSON string; -1 if not found.
 *
 * @param start Index of the opening quote.
 */
export function closingQuote(text: string, start: number): number {
  const first = text.indexOf('"', start + 1);
  if (first === -1 || text.charCodeAt(first - 1) !== BACKSLASH || first - 1 === start) return first;
  // A text with escapes is read character by character: it can have nothing but quotes and backslashes.
  for (let at = start + 1; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) return at;
    if (unit === BACKSLASH) at++;
  }
  return -1;
}
