import { isJsonObject, type JsonValue } from "./value.ts";

/** Matches a list index (RFC 6901, section 4). */
export const LIST_INDEX: RegExp = /^(?:0|[1-9][0-9]*)$/;

/** Escapes a member name for a JSON pointer (RFC 6901, section 3). */
export function escapePointer(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** Unescapes a reference token of a JSON pointer (RFC 6901, section 4). */
export function unescapePointer(token: string): string {
  return token.replaceAll("~1", "/").replaceAll("~0", "~");
}

/** A regular expression for JSON pointers (RFC 6901, section 3). */
export const POINTER_PATTERN = "^(?:/(?:[^~/]|~[01])*)*$";

/** Splits a pointer that matches {@link POINTER_PATTERN} into member names and list indices. */
export function parsePointer(pointer: string): readonly string[] {
  return pointer.split("/").slice(1).map(unescapePointer);
}

/** A pointer leads to a member or item that does not exist. */
export const MISSING: unique symbol = Symbol("missing");
/** A pointer leads through a value that cannot have such a member: a scalar, or a list with a name for an index. */
export const UNREACHABLE: unique symbol = Symbol("unreachable");

/** Returns the value to which the steps of a pointer lead. Inherited properties are ignored. */
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

/** A value to which a pointer leads, with its own pointer. */
export interface FoundValue {
  readonly pointer: string;
  readonly value: JsonValue;
}

/**
 * Finds every value to which the steps of a pointer lead. The step `*` leads to every item of a list and every member of an
 * object. What does not exist is left out. Inherited properties are ignored.
 */
export function lookUpAll(value: JsonValue, steps: readonly string[]): readonly FoundValue[] {
  let found: readonly FoundValue[] = [{ pointer: "", value }];
  for (const step of steps) {
    found = found.flatMap((each) => (step === "*" ? membersOf(each) : memberOf(each, step)));
  }
  return found;
}

function membersOf({ pointer, value }: FoundValue): readonly FoundValue[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) =>
    member === undefined ? [] : [{ pointer: `${pointer}/${escapePointer(key)}`, value: member }],
  );
}

function memberOf({ pointer, value }: FoundValue, step: string): readonly FoundValue[] {
  const member = lookUp(value, [step]);
  if (member === MISSING || member === UNREACHABLE) return [];
  return [{ pointer: `${pointer}/${escapePointer(step)}`, value: member }];
}
