import { equalJson } from "../../json/equal.ts";
import { isJsonObject, type JsonValue } from "../../json/value.ts";
import { isEmptyArguments } from "./arguments.ts";
import { parseMessage } from "./json.ts";
import { ProtocolError } from "./protocol-error.ts";

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

/** Returns whether arguments may be a placeholder for those that stand elsewhere. */
export function isBlank(args: JsonValue | undefined, isText = false): boolean {
  if (isText) return args === undefined || args === null || args === "";
  if (isEmptyArguments(args)) return true;
  if (typeof args === "string") return /^\s*\{\s*\}\s*$/.test(args);
  return isJsonObject(args) && Object.keys(args).length === 0;
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
