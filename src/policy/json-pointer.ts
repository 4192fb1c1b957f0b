import { LIST_INDEX, unescapePointer } from "../json/pointer.ts";
import { isJsonObject, type JsonValue } from "../json/value.ts";

/** The text of a JSON pointer (RFC 6901, section 3), as a regular expression. */
export const POINTER_PATTERN = "^(?:/(?:[^~/]|~[01])*)*$";

/** The member names and list indices of a pointer that has the form of {@link POINTER_PATTERN}. */
export function parsePointer(pointer: string): readonly string[] {
  return pointer.split("/").slice(1).map(unescapePointer);
}

/** There is nothing where a pointer leads. */
export const MISSING: unique symbol = Symbol("missing");
/** A pointer leads into a value that has no members of that kind: through a string, or by name into a list. */
export const UNREACHABLE: unique symbol = Symbol("unreachable");

/** Finds what a pointer leads to. Only a value's own members count, never what it inherits. */
export function lookUp(
  value: JsonValue,
  steps: readonly string[],
): JsonValue | typeof MISSING | typeof UNREACHABLE {
  let found = value;
  for (const step of steps) {
    if (Array.isArray(found) ? !LIST_INDEX.test(step) : !isJsonObject(found)) return UNREACHABLE;
    if (!Object.hasOwn(found as object, step)) return MISSING;
    const member = (found as { readonly [key: string]: JsonValue | undefined })[step];
    if (member === undefined) return MISSING;
    found = member;
  }
  return found;
}
