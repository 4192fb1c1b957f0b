import { casesOf, type ResourceType, type ValueType } from "../linking/value-type.ts";
import { liftedSize } from "./lift-budget.ts";
import type { MemoryAccess } from "./memory-access.ts";
import { AbiError, type ComponentRecord, type ComponentValue, type TaggedValue } from "./value.ts";

/** A type with cases, of which a value has one. */
type CaseType = Extract<ValueType, { readonly kind: "variant" | "enum" | "option" | "result" }>;

/** A type with fields. */
type FieldType = Extract<ValueType, { readonly kind: "record" | "tuple" }>;

/**
 * Returns the character of a Unicode scalar value.
 *
 * @throws {AbiError} if the code is a surrogate or out of range.
 */
export function liftChar(code: number): string {
  if (code >= 0x11_0000 || (code >= 0xd800 && code < 0xe000))
    throw new AbiError("a char is not a Unicode scalar value");
  return String.fromCodePoint(code);
}

/** Returns the code point of a character. */
export function lowerChar(char: string): number {
  return char.codePointAt(0) ?? 0;
}

/** Returns a float with the canonical NaN in place of any other, so that the same call always gets the same bits. */
export function lowerFloat(value: number): number {
  return Number.isNaN(value) ? Number.NaN : value;
}

/** Returns the names of the bits that are set. Bits without a name are ignored. */
export function liftFlags(bits: number, names: readonly string[]): readonly string[] {
  return names.filter((_, index) => (bits & (1 << index)) !== 0);
}

/** Returns the bits of the names that are set. */
export function lowerFlags(set: readonly string[], names: readonly string[]): number {
  let bits = 0;
  for (const [index, name] of names.entries()) if (set.includes(name)) bits |= 1 << index;
  return bits >>> 0;
}

/** Makes a record or a tuple from its fields. */
export function packFields(type: FieldType, values: readonly ComponentValue[]): ComponentValue {
  if (type.kind === "tuple") return values;
  const record: Record<string, ComponentValue> = {};
  for (const [index, { name }] of type.fields.entries()) record[name] = values[index];
  return record;
}

/** Returns the fields of a record or a tuple, in order. */
export function unpackFields(type: FieldType, value: ComponentValue): readonly ComponentValue[] {
  if (type.kind === "tuple") return value as readonly ComponentValue[];
  return type.fields.map(({ name }) => (value as ComponentRecord)[name]);
}

/** Whether an option contains an option. Its value is wrapped then, to distinguish `some(none)` from `none`. */
export function isNestedOption(type: ValueType): boolean {
  return type.kind === "option" && type.some.kind === "option";
}

/**
 * Returns the value of a case.
 *
 * @param lift Reads the payload of the case, which has been charged to the budget.
 * @throws {AbiError} if the type has no case with this index.
 * @throws {LiftBudgetError} if the payload is too large.
 */
export function liftCase(
  { budget }: MemoryAccess,
  type: CaseType,
  index: number,
  lift: (payload: ValueType) => ComponentValue,
): ComponentValue {
  const cases = casesOf(type) ?? [];
  if (index >= cases.length) throw new AbiError("a case index is out of range");
  const payload = cases[index];
  if (payload !== undefined) budget.charge(liftedSize(payload));
  switch (type.kind) {
    case "enum":
      return type.names[index];
    case "option":
      if (payload === undefined) return undefined;
      return isNestedOption(type) ? { some: lift(payload) } : lift(payload);
    default: {
      const tag = type.kind === "result" ? (index === 0 ? "ok" : "err") : (type.cases[index]?.name ?? "");
      return payload === undefined ? { tag } : { tag, val: lift(payload) };
    }
  }
}

/**
 * Returns the case of a value: its index, its payload and the payload's type.
 *
 * @throws {AbiError} if the type has no such case.
 */
export function lowerCase(
  type: CaseType,
  value: ComponentValue,
): { readonly index: number; readonly payload: ComponentValue; readonly type: ValueType | undefined } {
  switch (type.kind) {
    case "enum":
      return { index: knownCase(type.names.indexOf(value as string)), payload: undefined, type: undefined };
    case "option": {
      if (value === undefined) return { index: 0, payload: undefined, type: undefined };
      const payload = isNestedOption(type) ? (value as { some: ComponentValue }).some : value;
      return { index: 1, payload, type: type.some };
    }
    case "result": {
      const { tag, val } = value as TaggedValue;
      return tag === "ok"
        ? { index: 0, payload: val, type: type.ok }
        : { index: 1, payload: val, type: type.err };
    }
    case "variant": {
      const { tag, val } = value as TaggedValue;
      const index = knownCase(type.cases.findIndex(({ name }) => name === tag));
      return { index, payload: val, type: type.cases[index]?.type };
    }
  }
}

function knownCase(index: number): number {
  if (index === -1) throw new AbiError("a value has a case that its type does not have");
  return index;
}

/**
 * Returns the representation of a handle. An owned handle is removed from the component; for `borrow`, the
 * call borrows it until it returns.
 *
 * @throws {AbiError} if the handle does not exist or has another resource type, or an owned handle is needed
 *   and this one is borrowed or in use by another call.
 */
export function liftHandle(
  { handles }: MemoryAccess,
  index: number,
  kind: "own" | "borrow",
  resource: ResourceType,
): ComponentValue {
  const representation =
    kind === "borrow" ? handles.borrow(index, resource) : handles.giveAway(index, resource);
  return representation as ComponentValue;
}

/** Adds a handle for a resource to the component, and returns its index. */
export function lowerHandle(
  { handles, component }: MemoryAccess,
  representation: ComponentValue,
  kind: "own" | "borrow",
  resource: ResourceType,
): number {
  // A component that defines a resource gets the representation instead of a borrowed handle.
  if (kind === "borrow" && resource.definedBy === component) return representation as number;
  return kind === "own"
    ? handles.addOwned(resource, representation)
    : handles.addBorrowed(resource, representation);
}
