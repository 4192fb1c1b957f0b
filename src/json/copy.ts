import { escapePointer } from "./pointer.ts";
import { ARGUMENT_BOUNDS, type JsonBounds } from "./refusal.ts";
import { type JsonValue, JsonValueError, MAX_DEPTH } from "./value.ts";

/**
 * Copies a caller's value and freezes the copy. Every member is read exactly once, so the arguments that were
 * validated are the ones that run, even if the caller changes the original. Members that are `undefined` are omitted,
 * as in JSON; `-0` becomes `0`.
 *
 * @throws {JsonValueError} for functions, symbols, bigints, numbers that are not finite, strings with unpaired
 *   surrogates, cycles, trees deeper than {@link MAX_DEPTH} or beyond the bounds, objects that are neither plain nor
 *   arrays, and a member named `__proto__`.
 */
export function copyJson(value: unknown, bounds: JsonBounds = ARGUMENT_BOUNDS): JsonValue {
  return new Copier(bounds).copy(value, "", 1);
}

class Copier {
  readonly #bounds: JsonBounds;
  #length = 0;
  #values = 0;
  #members = 0;

  constructor(bounds: JsonBounds) {
    this.#bounds = bounds;
  }

  copy(value: unknown, path: string, depth: number): JsonValue {
    if (++this.#values > this.#bounds.values) throw beyond(`${this.#bounds.values} values`);
    switch (typeof value) {
      case "string":
        this.#checkText(value, path);
        return value;
      case "boolean":
        return value;
      case "number":
        if (Number.isFinite(value)) return value === 0 ? 0 : value;
        throw new JsonValueError(`${path || "/"} is not a finite number`);
      case "object":
        return value === null ? null : this.#copyNode(value, path, depth);
      default:
        throw new JsonValueError(`${path || "/"} is of type ${typeof value}, which JSON does not support`);
    }
  }

  #copyNode(value: object, path: string, depth: number): JsonValue {
    // A cycle ends here too, as it is deeper than any limit.
    if (depth > MAX_DEPTH) throw new JsonValueError(`nested deeper than ${MAX_DEPTH} levels`);
    if (Array.isArray(value)) {
      // A sparse array can have any length without a single item.
      if (value.length > this.#bounds.values) throw beyond(`${this.#bounds.values} values`);
      return Object.freeze(
        Array.from(value, (item, index) => this.copy(item, `${path}/${index}`, depth + 1)),
      );
    }
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype !== Object.prototype && prototype !== null) {
      throw new JsonValueError(`${path || "/"} is not a plain object`);
    }
    const result: Record<string, JsonValue> = {};
    for (const key of Object.keys(value)) {
      if (key === "__proto__") throw new JsonValueError("a member named '__proto__' is not allowed");
      if (++this.#members > this.#bounds.members) throw beyond(`${this.#bounds.members} members`);
      this.#checkText(key, path);
      const member: unknown = (value as Record<string, unknown>)[key];
      if (member !== undefined) result[key] = this.copy(member, `${path}/${escapePointer(key)}`, depth + 1);
    }
    return Object.freeze(result);
  }

  #checkText(text: string, path: string): void {
    this.#length += text.length;
    if (this.#length > this.#bounds.length) throw beyond(`${this.#bounds.length} characters`);
    if (!text.isWellFormed()) throw new JsonValueError(`${path || "/"} has an unpaired surrogate`);
  }
}

function beyond(bound: string): JsonValueError {
  return new JsonValueError(`it has more than ${bound}`);
}
