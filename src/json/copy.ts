import { type JsonValue, JsonValueError, MAX_DEPTH } from "./value.ts";

/**
 * Copies a value from a caller, reading every member exactly once, and freezes the copy: what was validated
 * is what runs, even if the caller changes the original meanwhile. Members that are `undefined` are left out,
 * as JSON does.
 *
 * @throws {JsonValueError} for functions, symbols, bigints, numbers that are not finite, cycles, trees deeper
 *   than {@link MAX_DEPTH}, objects that are neither plain nor arrays, and a member named `__proto__`.
 */
export function copyJson(value: unknown): JsonValue {
  return copy(value, "", 1);
}

function copy(value: unknown, path: string, depth: number): JsonValue {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      if (Number.isFinite(value)) return value;
      throw new JsonValueError(`${path || "/"} is not a finite number`);
    case "object":
      break;
    default:
      throw new JsonValueError(`${path || "/"} is of type ${typeof value}, which JSON does not have`);
  }
  if (value === null) return null;
  // A cycle ends here too: it is deeper than any limit.
  if (depth > MAX_DEPTH) throw new JsonValueError(`nested deeper than ${MAX_DEPTH} levels`);
  if (Array.isArray(value)) {
    return Object.freeze(Array.from(value, (item, index) => copy(item, `${path}/${index}`, depth + 1)));
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    throw new JsonValueError(`${path || "/"} is not a plain object`);
  }
  const result: Record<string, JsonValue> = {};
  for (const [key, member] of Object.entries(value)) {
    if (key === "__proto__") throw new JsonValueError("a member named '__proto__' is not allowed");
    if (member !== undefined) result[key] = copy(member, `${path}/${escapePointer(key)}`, depth + 1);
  }
  return Object.freeze(result);
}

/** Escapes a member name for a JSON pointer (RFC 6901, section 3). */
export function escapePointer(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}
