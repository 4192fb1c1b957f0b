/** Any JSON value (RFC 8259). */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;

/** A JSON object. A member that is `undefined` counts as missing. */
export interface JsonObject {
  readonly [member: string]: JsonValue | undefined;
}

/** Returns whether a value is an object, and neither an array nor `null`. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The maximum depth of a tree. Deeper ones are refused before they can overflow a stack. */
export const MAX_DEPTH = 256;

/** A value cannot be represented as JSON, or is too deep. `message` says where and why, and repeats no value. */
export class JsonValueError extends Error {
  override readonly name = "JsonValueError";
}

/**
 * Freezes a tree that `JSON.parse` returned, so that it cannot change after it was checked.
 *
 * @throws {JsonValueError} if the tree is deeper than {@link MAX_DEPTH}, has a number that overflowed (`1e999`), or has
 *   a member named `__proto__`, which could change prototypes in careless code.
 */
export function freezeJson<T extends JsonValue>(value: T): T {
  freezeValue(value, 0);
  return value;
}

function freezeValue(value: JsonValue | undefined, depth: number): void {
  if (typeof value === "object" && value !== null) freezeTree(value, depth + 1);
  // ECMAScript parses an overflowing number as infinity, which would be serialised as `null`.
  else if (typeof value === "number" && !Number.isFinite(value)) {
    throw new JsonValueError("a number that is too large for a double");
  }
}

function freezeTree(node: JsonObject | readonly JsonValue[], depth: number): void {
  if (depth > MAX_DEPTH) throw new JsonValueError(`nested deeper than ${MAX_DEPTH} levels`);
  if (Array.isArray(node)) {
    for (let index = 0; index < node.length; index++) freezeValue(node[index], depth);
  } else {
    const members = node as JsonObject;
    for (const key of Object.keys(members)) {
      if (key === "__proto__") throw new JsonValueError("a member named '__proto__' is not allowed");
      freezeValue(members[key], depth);
    }
  }
  Object.freeze(node);
}
