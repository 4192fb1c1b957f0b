import { escapePointer } from "../../json/pointer.ts";
import { isRawNumber, parseKeepingNumbers } from "../../json/raw-parts.ts";
import { refuseNumber } from "../../json/refusal.ts";
import { equalJson, isJsonObject, type JsonValue, MAX_DEPTH } from "../../json/value.ts";
import { findExcessiveDepth, MAX_MESSAGE_DEPTH } from "./limits.ts";
import { ProtocolError } from "./shape.ts";

/**
 * Matches every JSON text with a number that may not be exact as a double: one with many digits, or an
 * exponent.
 */
const MAY_BE_INEXACT: RegExp = /\d{16}|\d[eE][-+]?\d/;

/**
 * Parses a message or an event. Numbers that may not be exact as doubles stay text, so that the engine can
 * check them in arguments.
 *
 * @throws {ProtocolError} if the text is not JSON, or nested too deeply.
 */
export function parseMessage(text: string): unknown {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    throw new ProtocolError("", "is not valid JSON");
  }
  if (findExcessiveDepth(text) !== undefined) {
    throw new ProtocolError("", `is nested deeper than ${MAX_MESSAGE_DEPTH} levels`);
  }
  return MAY_BE_INEXACT.test(text) ? parseKeepingNumbers(text, isInexact) : message;
}

/** Whether the digits have to stay: an integer beyond 2⁵³ may be exact, but after parsing that is no longer known. */
function isInexact(literal: string): boolean {
  return refuseNumber(literal) !== undefined || Math.abs(Number(literal)) > Number.MAX_SAFE_INTEGER;
}

/** Arguments of a call. */
interface ReadArguments {
  readonly arguments: JsonValue;
  /** Why they cannot be used. */
  readonly problem?: string;
}

const MAX_SHORT_DIGITS = 15;

/**
 * Reads arguments. Missing ones become an empty object. Those with a number that may not be exact as a double
 * become text, which the engine checks, or get a problem if the original digits are lost. Others are not
 * changed.
 */
export function readArguments(args: JsonValue | undefined): ReadArguments {
  if (args === undefined || isEmptyArguments(args))
    return { arguments: typeof args === "string" ? "{}" : {} };
  if (typeof args !== "object") return { arguments: args };
  const text = textOf(args);
  if (text === undefined || !MAY_BE_INEXACT.test(text)) return { arguments: args };
  const found = findInexact(args, "", 1);
  if (found === undefined) return { arguments: args };
  if (found.hasText) return { arguments: text };
  const problem = `${found.path || "/"} is an integer that a double cannot hold exactly (send it as a string)`;
  return { arguments: args, problem: `Invalid arguments: ${problem}` };
}

/** Returns whether a server wrote that a call has no arguments. It may also mean that they have not arrived. */
export function isEmptyArguments(args: JsonValue | undefined): boolean {
  return args === undefined || args === null || (typeof args === "string" && /^\s*(?:null\s*)?$/.test(args));
}

/** Returns whether arguments are an object from beginning to end. No beginning of an object is one itself. */
export function hasCompleteArguments(args: JsonValue): boolean {
  if (typeof args !== "string") return true;
  if (!/^\s*\{/.test(args)) return false;
  try {
    return isJsonObject(JSON.parse(args));
  } catch {
    return false;
  }
}

/** Returns a value as JSON; `undefined` if it is not JSON, which the engine refuses. */
function textOf(value: JsonValue): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** Finds a number that is still text; otherwise an integer that may be the rounded neighbour of the one that the model wrote. */
function findInexact(
  value: JsonValue | undefined,
  path: string,
  depth: number,
): { readonly path: string; readonly hasText: boolean } | undefined {
  if (typeof value === "number") return isRounded(value) ? { path, hasText: false } : undefined;
  // The engine refuses deeper values.
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return undefined;
  if (isRawNumber(value)) return { path, hasText: true };
  let found: ReturnType<typeof findInexact>;
  for (const [name, member] of Object.entries(value)) {
    const inside = findInexact(member, `${path}/${escapePointer(name)}`, depth + 1);
    if (inside?.hasText) return inside;
    found ??= inside;
  }
  return found;
}

/** Large numbers with few digits, such as `1e30`, are quantities, which a model writes with an exponent. */
function isRounded(value: number): boolean {
  if (!Number.isInteger(value) || Number.isSafeInteger(value)) return false;
  const [digits = "", exponent] = String(value).replace(/[-.]/g, "").split("e");
  return exponent === undefined || digits.length > MAX_SHORT_DIGITS;
}

/**
 * Returns a text that two places of a message state: the one that has content, if the other is empty.
 *
 * @throws {ProtocolError} if both have content and differ: nothing says which one the model meant.
 */
export function agree(known: string, given: string, pointer: string): string {
  if (given === "" || given === known) return known;
  if (known === "") return given;
  throw contradiction(pointer);
}

/**
 * Returns arguments that two places of a message state, in the same way. Arguments without members are empty. Of equal
 * arguments, the text is returned, which has the numbers as the model wrote them.
 *
 * @throws {ProtocolError} if both have content and differ.
 */
export function agreeOnArguments(
  known: JsonValue | undefined,
  given: JsonValue | undefined,
  pointer: string,
  isText = false,
): JsonValue | undefined {
  if (isBlank(given, isText)) return isBlank(known, isText) ? (known ?? given) : known;
  if (isBlank(known, isText)) return given;
  if (known === given) return known;
  if (isText || !isSame(known as JsonValue, given as JsonValue)) throw contradiction(pointer);
  return typeof known === "string" ? known : given;
}

/** Returns whether arguments may be a placeholder for those that stand elsewhere. */
export function isBlank(args: JsonValue | undefined, isText = false): boolean {
  if (isText) return args === undefined || args === null || args === "";
  if (isEmptyArguments(args)) return true;
  if (typeof args === "string") return /^\s*\{\s*\}\s*$/.test(args);
  return isJsonObject(args) && Object.keys(args).length === 0;
}

/** Returns whether two places agree, instead of an error. */
export function agrees(compare: () => unknown): boolean {
  try {
    compare();
    return true;
  } catch (error) {
    if (error instanceof ProtocolError) return false;
    throw error;
  }
}

/** The error for two places of a message that state different things. */
export function contradiction(pointer: string): ProtocolError {
  return new ProtocolError(pointer, "contradicts another part of the message");
}

function isSame(a: JsonValue, b: JsonValue): boolean {
  try {
    // A parsed value has lost how its numbers were written, a text has not.
    const read = typeof a === "string" && typeof b === "string" ? parseMessage : JSON.parse;
    return equalJson(toValue(a, read), toValue(b, read));
  } catch {
    return false;
  }
}

function toValue(args: JsonValue, read: (text: string) => unknown): JsonValue {
  const text = typeof args === "string" ? args : JSON.stringify(args);
  return read(text) as JsonValue;
}
