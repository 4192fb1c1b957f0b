import { checkItems } from "../../abi/lift-budget.ts";
import { isNestedOption } from "../../abi/shapes.ts";
import type { ComponentRecord, ComponentValue, TaggedValue } from "../../abi/value.ts";
import type { ValueType } from "../../linking/value-type.ts";
import { camelCase } from "../calls.ts";

/** An error that jco's generated code threw: a trap, or a value that is not of its type. */
export class JcoError extends Error {
  override readonly name = "JcoError";

  constructor({ message, stack }: Error) {
    super(message === "" || message === "Trap" ? UNNAMED : message);
    // The operator reads where.
    this.stack = String(stack);
  }
}

/** jco gives no reason for the traps of its calls from one component to another. */
const UNNAMED =
  "the canonical ABI, as jco implements it, does not allow this call of another component or the host";

const ERRORS: readonly unknown[] = [Error, TypeError, RangeError, ReferenceError, SyntaxError];

const STACK_OVERFLOW = "Maximum call stack size exceeded";

/**
 * A value as jco's code passes it. It differs from a `ComponentValue` in: fields and flags are in camel case, flags are an
 * object of booleans, an option of an option has a tag, and lists of numbers are typed arrays.
 */
export type JcoValue = unknown;

/** Converts a value of a resource. */
type ConvertResource = (
  type: Extract<ValueType, { readonly kind: "own" | "borrow" }>,
  value: unknown,
) => unknown;

/** Converts a value for jco's code. */
export function toJco(type: ValueType, value: ComponentValue, resource: ConvertResource): JcoValue {
  const inner = (of: ValueType, each: ComponentValue): JcoValue => toJco(of, each, resource);
  const payload = (of: ValueType | undefined, { tag, val }: TaggedValue): JcoValue =>
    of === undefined ? { tag } : { tag, val: inner(of, val) };
  switch (type.kind) {
    case "list":
      if (value instanceof Uint8Array) return value;
      return (value as readonly ComponentValue[]).map((item) => inner(type.element, item));
    case "tuple":
      return type.items.map((item, index) => inner(item, (value as readonly ComponentValue[])[index]));
    case "record": {
      const fields = value as ComponentRecord;
      return Object.fromEntries(
        type.fields.map(({ name, type: of }) => [camelCase(name), inner(of, fields[name])]),
      );
    }
    case "flags":
      return Object.fromEntries(
        type.names.map((name) => [camelCase(name), (value as readonly string[]).includes(name)]),
      );
    case "option":
      if (!isNestedOption(type)) return value === undefined ? undefined : inner(type.some, value);
      return value === undefined
        ? { tag: "none" }
        : { tag: "some", val: inner(type.some, (value as { readonly some: ComponentValue }).some) };
    case "result": {
      const tagged = value as TaggedValue;
      return payload(tagged.tag === "ok" ? type.ok : type.err, tagged);
    }
    case "variant": {
      const tagged = value as TaggedValue;
      return payload(type.cases.find(({ name }) => name === tagged.tag)?.type, tagged);
    }
    case "own":
    case "borrow":
      return resource(type, value);
    default:
      return value;
  }
}

/** Converts a value of jco's code. */
export function fromJco(type: ValueType, value: JcoValue): ComponentValue {
  const payload = (of: ValueType | undefined, { tag, val }: TaggedValue): ComponentValue =>
    of === undefined ? { tag } : { tag, val: fromJco(of, val) };
  switch (type.kind) {
    case "list":
      if (type.element.kind === "u8") return value as Uint8Array;
      checkItems((value as ArrayLike<unknown>).length);
      return Array.from(value as ArrayLike<unknown>, (item) => fromJco(type.element, item));
    case "tuple":
      return type.items.map((item, index) => fromJco(item, (value as readonly unknown[])[index]));
    case "record": {
      const fields = value as Readonly<Record<string, unknown>>;
      return Object.fromEntries(
        type.fields.map(({ name, type: of }) => [name, fromJco(of, fields[camelCase(name)])]),
      );
    }
    case "flags":
      return type.names.filter((name) => (value as Readonly<Record<string, boolean>>)[camelCase(name)]);
    case "option":
      if (!isNestedOption(type)) return value === undefined ? undefined : fromJco(type.some, value);
      return (value as TaggedValue).tag === "none"
        ? undefined
        : { some: fromJco(type.some, (value as TaggedValue).val) };
    case "result": {
      const tagged = value as TaggedValue;
      return payload(tagged.tag === "ok" ? type.ok : type.err, tagged);
    }
    case "variant": {
      const tagged = value as TaggedValue;
      return payload(type.cases.find(({ name }) => name === tagged.tag)?.type, tagged);
    }
    default:
      return value as ComponentValue;
  }
}

/** Returns what jco's code threw as a {@link JcoError}; unchanged what V8 or the host threw. */
export function asJcoError(thrown: unknown): unknown {
  if (!(thrown instanceof Error) || !ERRORS.includes(thrown.constructor)) return thrown;
  return thrown.message === STACK_OVERFLOW ? thrown : new JcoError(thrown);
}
