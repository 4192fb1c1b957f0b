import { wellFormed } from "../base/text.ts";
import { DUPLICATE_KEY, type DuplicateKeys, hasDuplicateKeys } from "./duplicate-keys.ts";
import { looksUnsafe, seal } from "./parse.ts";
import { type JsonBounds, locateRefusal, refuseNumber } from "./refusal.ts";
import { freezeJson, isJsonObject, type JsonValue, JsonValueError } from "./value.ts";

/** How to treat a number that a double cannot represent: refuse the text, or give the number as a string of its digits. */
export type BigNumbers = "refuse" | "string";

/** How to read an answer. */
export interface AnswerRules {
  /** Default: `"refuse"`. */
  readonly bigNumbers?: BigNumbers | undefined;
  /** Default: `"last"`, as most parsers do. */
  readonly duplicateKeys?: DuplicateKeys;
}

/** The length of an answer is bounded where it is read. */
const UNBOUNDED: JsonBounds = Object.freeze({
  length: Number.POSITIVE_INFINITY,
  values: Number.POSITIVE_INFINITY,
  members: Number.POSITIVE_INFINITY,
});

/**
 * Parses JSON that a tool, an endpoint or an executor answered, deeply frozen. Half surrogate pairs become U+FFFD, and
 * `-0` becomes `0`.
 *
 * @throws {SyntaxError} if it is not JSON.
 * @throws {JsonValueError} if it is nested too deep, has a member named `__proto__`, or a number that a double cannot
 *   represent: it would be changed silently. With `duplicateKeys: "refuse"`, also if a member name repeats.
 */
export function parseAnswer(
  text: string,
  { bigNumbers = "refuse", duplicateKeys = "last" }: AnswerRules = {},
): JsonValue {
  let value = JSON.parse(text) as JsonValue;
  const sights = seal(value);
  if (looksUnsafe(text, sights)) {
    if (bigNumbers === "string") value = JSON.parse(text, digitsOfBigNumber) as JsonValue;
    else refuseNumbers(text);
    if (sights.isOdd) freezeJson(value);
    value = freezeJson(withWellFormedText(value));
  }
  if (duplicateKeys === "refuse" && hasDuplicateKeys(text, sights.members)) {
    throw new JsonValueError(DUPLICATE_KEY);
  }
  return value === 0 ? 0 : value;
}

/** @throws {JsonValueError} if a number of the text cannot be represented by a double. */
function refuseNumbers(text: string): void {
  const refusal = locateRefusal(text, UNBOUNDED, "numbers");
  if (refusal !== undefined) throw new JsonValueError(`${refusal.reason} at position ${refusal.position}`);
}

function digitsOfBigNumber(
  _name: string,
  value: unknown,
  { source }: { readonly source?: string } = {},
): unknown {
  if (typeof value !== "number" || source === undefined) return value;
  return refuseNumber(source) === undefined ? value : source;
}

/** Copies a value with well-formed texts. */
function withWellFormedText<T extends JsonValue>(value: T): T;
function withWellFormedText(value: JsonValue): JsonValue {
  if (typeof value === "string") return wellFormed(value);
  if (value === 0) return 0;
  if (typeof value !== "object" || value === null) return value;
  if (!isJsonObject(value)) return value.map((item) => withWellFormedText(item));
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [wellFormed(name), withWellFormedText(member ?? null)]),
  );
}
