/** Any value that JSON (RFC 8259) can express. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;

/** A JSON object. A member that is `undefined` does not exist. */
export interface JsonObject {
  readonly [member: string]: JsonValue | undefined;
}

/** Tells an object from arrays, `null` and primitives. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** How deep a tree may be; a deeper one is refused before it can exhaust a stack. */
export const MAX_DEPTH = 256;

/** A value is none that may cross a border. `message` says where and why; it repeats no value. */
export class JsonValueError extends Error {
  override readonly name = "JsonValueError";
}

/**
 * Freezes a tree fresh from `JSON.parse`, so that nobody who sees it later can change what was checked.
 *
 * @throws {JsonValueError} when the tree is deeper than {@link MAX_DEPTH}, has a number that overflowed (`1e999`),
 *   or has a member named `__proto__`, which no honest sender has and which changes prototypes in careless code.
 */
export function freezeJson<T extends JsonValue>(value: T): T {
  freezeValue(value, 0);
  return value;
}

function freezeValue(value: JsonValue | undefined, depth: number): void {
  if (typeof value === "object" && value !== null) freezeTree(value, depth + 1);
  // ECMAScript reads what a double cannot hold as infinity, which is no JSON, and `null` when it is written again.
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
