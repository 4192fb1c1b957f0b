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

/** A frozen copy of a value, and the length of the value as JSON text. */
export interface PlainCopy {
  readonly value: JsonValue;
  /** Bytes of `JSON.stringify(value)` in UTF-8. */
  readonly bytes: number;
}

/** Beyond this many bytes, serialising and parsing is faster than copying. */
const MAX_BYTES = 64 * 1_024;

/** The longest string whose characters are examined one by one. */
const MAX_COUNTED_LENGTH = 64;

const NO_MEMBERS: object = {};

const ODD: unique symbol = Symbol("odd");

/** Bytes of the current copy. Copying is synchronous; a nested copy, started by a getter, counts for itself. */
let bytes = 0;

/**
 * Copies a value like `JSON.parse(JSON.stringify(value))`, without serialising it, and freezes the copy.
 *
 * @returns `undefined` if the value has to be left to `JSON.stringify`: it is large, nested deeper than
 *   {@link MAX_DEPTH}, has `toJSON` methods or functions, objects that are neither plain nor arrays or only have a tag, numbers that are not
 *   finite, or half surrogate pairs.
 * @throws the errors of the value's getters and proxy traps.
 */
export function copyPlain(value: unknown): PlainCopy | undefined {
  // Enumerable properties of `Object.prototype` would look like the value's own.
  for (const _ in NO_MEMBERS) return undefined;
  const outer = bytes;
  bytes = 0;
  try {
    const copy = copyValue(value, 1);
    return copy === ODD || Number.isNaN(bytes) ? undefined : { value: copy, bytes };
  } finally {
    bytes = outer;
  }
}

function copyValue(value: unknown, depth: number): JsonValue | typeof ODD {
  switch (typeof value) {
    case "string":
      bytes += textBytes(value);
      return value;
    case "number":
      if (!Number.isFinite(value)) return ODD;
      bytes += numberBytes(value);
      return value === 0 ? 0 : value;
    case "boolean":
      bytes += value ? 4 : 5;
      return value;
    case "object":
      return value === null ? copyNull() : copyNode(value, depth);
    default:
      return ODD;
  }
}

function copyNull(): null {
  bytes += 4;
  return null;
}

function copyNode(node: object, depth: number): JsonValue | typeof ODD {
  if (depth > MAX_DEPTH || bytes > MAX_BYTES) return ODD;
  if ((node as { readonly toJSON?: unknown }).toJSON !== undefined) return ODD;
  switch (Object.getPrototypeOf(node)) {
    case Object.prototype:
      return copyObject(node as Record<string, unknown>, depth);
    case Array.prototype:
      return Array.isArray(node) ? copyArray(node, depth) : ODD;
    default:
      return ODD;
  }
}

function copyArray(items: readonly unknown[], depth: number): JsonValue | typeof ODD {
  const { length } = items;
  // The brackets, and the commas between.
  bytes += 2 + Math.max(length - 1, 0);
  if (bytes > MAX_BYTES) return ODD;
  const copies = new Array<JsonValue>(length);
  for (let index = 0; index < length; index++) {
    const item = items[index];
    const copy = item === undefined ? copyNull() : copyValue(item, depth + 1);
    if (copy === ODD) return ODD;
    copies[index] = copy;
  }
  return Object.freeze(copies);
}

function copyObject(members: Readonly<Record<string, unknown>>, depth: number): JsonValue | typeof ODD {
  const copies: Record<string, JsonValue> = {};
  let count = 0;
  for (const key in members) {
    const member = members[key];
    if (member === undefined) continue;
    if (key === "__proto__") return ODD;
    const copy = copyValue(member, depth + 1);
    if (copy === ODD) return ODD;
    copies[key] = copy;
    // The colon.
    bytes += textBytes(key) + 1;
    count++;
  }
  // Nothing would be left of Math, and its like.
  if (count === 0 && Symbol.toStringTag in members) return ODD;
  // The braces, and the commas between.
  bytes += 2 + Math.max(count - 1, 0);
  return Object.freeze(copies);
}

/** Bytes of a string as JSON text, with its quotes; `NaN` if it has half a surrogate pair. */
function textBytes(text: string): number {
  const { length } = text;
  if (length > MAX_COUNTED_LENGTH) return measure(text);
  let sum = length + 2;
  for (let index = 0; index < length; index++) {
    const unit = text.charCodeAt(index);
    if (unit < 0x20 || unit > 0x7e) return measure(text);
    // Quote and backslash.
    if (unit === 0x22 || unit === 0x5c) sum++;
  }
  return sum;
}

function measure(text: string): number {
  return text.isWellFormed() ? Buffer.byteLength(JSON.stringify(text)) : Number.NaN;
}

/** Bytes of a finite number as JSON text. */
function numberBytes(value: number): number {
  return value >= 0 && value < 10 && Number.isInteger(value) ? 1 : String(value).length;
}

/** Returns whether two JSON values are equal. The order of members does not matter, that of items does. */
export function equalJson(a: JsonValue, b: JsonValue): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => equalJson(item, b[index]));
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && equalJson(a[key] as JsonValue, b[key] as JsonValue))
  );
}
