import { escapePointer } from "../../json/pointer.ts";
import { isRawNumber } from "../../json/raw-json.ts";
import { isJsonObject, type JsonValue, MAX_DEPTH } from "../../json/value.ts";
import { MAY_BE_INEXACT } from "./json.ts";

/** Arguments as a call has them. */
export interface ReadArguments {
  readonly arguments: JsonValue;
  /** Why they cannot be used. */
  readonly problem?: string;
}

const MAX_SHORT_DIGITS = 15;

/** Returns whether a server wrote that a call has no arguments. It may also mean that they have not arrived. */
export function isEmptyArguments(args: JsonValue | undefined): boolean {
  return args === undefined || args === null || (typeof args === "string" && /^\s*(?:null\s*)?$/.test(args));
}

/**
 * Reads arguments. Those that are missing are an empty object. Those with a number that a double may not hold become
 * text, which the engine checks, or have a problem if it is lost how the number was written. Others are not changed.
 */
export function readArguments(args: JsonValue | undefined): ReadArguments {
  if (args === undefined || isEmptyArguments(args))
    return { arguments: typeof args === "string" ? "{}" : {} };
  if (typeof args !== "object") return { arguments: args };
  const text = textOf(args);
  if (text === undefined || !MAY_BE_INEXACT.test(text)) return { arguments: args };
  const found = findInexact(args, "", 1);
  if (found === undefined) return { arguments: args };
  if (found.isKept) return { arguments: text };
  const problem = `${found.path || "/"} is an integer that a double cannot hold exactly (send it as a string)`;
  return { arguments: args, problem: `Invalid arguments: ${problem}` };
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

/** Finds a number that was retained as text, or else an integer that may be the rounded neighbour of the one that the model wrote. */
function findInexact(
  value: JsonValue | undefined,
  path: string,
  depth: number,
): { readonly path: string; readonly isKept: boolean } | undefined {
  if (typeof value === "number") return isRounded(value) ? { path, isKept: false } : undefined;
  // The engine refuses deeper values.
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return undefined;
  if (isRawNumber(value)) return { path, isKept: true };
  let found: ReturnType<typeof findInexact>;
  for (const [name, member] of Object.entries(value)) {
    const inside = findInexact(member, `${path}/${escapePointer(name)}`, depth + 1);
    if (inside?.isKept) return inside;
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
