import type { JsonObject } from "./value.ts";

const REPLACEMENT = "\ufffd";
/** An escape sequence of a JSON text; a surrogate pair counts as one. */
const ESCAPE = /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u[\da-fA-F]{4}|[^u])/g;
const UNPAIRED_ESCAPE = /^\\u[dD][89a-fA-F][\da-fA-F]{2}$/;

/**
 * Replaces unpaired surrogates in all strings of a tree, also in names of members: they cannot be encoded as UTF-8, and
 * providers reject a conversation that has one.
 *
 * @returns the value itself if it has none, and otherwise a copy. Only arrays and plain objects are searched.
 */
export function toWellFormed<T>(value: T): T {
  return replaceIn(value) as T;
}

function replaceIn(value: unknown): unknown {
  if (typeof value === "string") return value.isWellFormed() ? value : value.toWellFormed();
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map(replaceIn);
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  const members = Object.entries(value as JsonObject);
  const replaced = members.map(([name, member]) => [name.toWellFormed(), replaceIn(member)] as const);
  const isSame = replaced.every(([name, member], index) => {
    return name === members[index]?.[0] && member === members[index]?.[1];
  });
  // Assigning would not work for a member named `__proto__`.
  return isSame ? value : Object.fromEntries(replaced);
}

/** Replaces unpaired surrogates in a JSON text, also escaped ones. Works for any text. */
export function toWellFormedJson(text: string): string {
  const clean = text.toWellFormed();
  if (!/\\u[dD][89a-fA-F]/.test(clean)) return clean;
  return clean.replace(ESCAPE, (found) => (UNPAIRED_ESCAPE.test(found) ? REPLACEMENT : found));
}
