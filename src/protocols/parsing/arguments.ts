import { isJsonObject, type JsonValue } from "../../json/value.ts";

/** Arguments as a call has them. */
export interface ReadArguments {
  readonly arguments: JsonValue;
}

/** Returns whether a server wrote that a call has no arguments. It may also mean that they have not arrived. */
export function isEmptyArguments(args: JsonValue | undefined): boolean {
  return args === undefined || args === null || (typeof args === "string" && /^\s*(?:null\s*)?$/.test(args));
}

/** Reads arguments. Those that are missing are an empty object; all others are not changed. */
export function readArguments(args: JsonValue | undefined): ReadArguments {
  if (args === undefined || isEmptyArguments(args))
    return { arguments: typeof args === "string" ? "{}" : {} };
  return { arguments: args };
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
