import { fieldsOf, type ValueType } from "../linking/value-type.ts";
import { alignUp, layoutOf, MAX_BYTES } from "./layout.ts";
import { checkItems } from "./lift-budget.ts";
import { liftedSize } from "./lifted-size.ts";
import type { MemoryAccess } from "./memory-access.ts";
import { liftCase, liftChar, liftFlags, liftHandle, packFields } from "./shapes.ts";
import { loadString } from "./strings.ts";
import { AbiError, type ComponentValue } from "./value.ts";

/** The minimum size of a list item in bytes of JSON text: one character and a comma. */
const LEAST_ITEM_BYTES = 2;

/**
 * Reads a value from a component's memory (`CanonicalABI.md`, `load`). The value itself has been charged to the budget;
 * the items of lists, the characters of strings and the payloads of cases are charged before they are read.
 *
 * @param at An address that has been checked.
 * @throws {AbiError} if the bytes do not form a value of this type.
 * @throws {LiftBudgetError} if the value is too large.
 */
export function load(access: MemoryAccess, at: number, type: ValueType): ComponentValue {
  const { view } = access;
  switch (type.kind) {
    case "bool":
      return view.getUint8(at) !== 0;
    case "s8":
      return view.getInt8(at);
    case "u8":
      return view.getUint8(at);
    case "s16":
      return view.getInt16(at, true);
    case "u16":
      return view.getUint16(at, true);
    case "s32":
      return view.getInt32(at, true);
    case "u32":
      return view.getUint32(at, true);
    case "s64":
      return view.getBigInt64(at, true);
    case "u64":
      return view.getBigUint64(at, true);
    case "f32":
      return view.getFloat32(at, true);
    case "f64":
      return view.getFloat64(at, true);
    case "char":
      return liftChar(view.getUint32(at, true));
    case "string":
      return loadString(access, view.getUint32(at, true), view.getUint32(at + 4, true));
    case "list":
      return loadList(access, view.getUint32(at, true), view.getUint32(at + 4, true), type.element);
    case "record":
    case "tuple":
      return packFields(type, loadFields(access, at, fieldsOf(type) ?? []));
    case "flags":
      return liftFlags(readUint(view, at, layoutOf(type).size), type.names);
    case "variant":
    case "enum":
    case "option":
    case "result": {
      const { discriminantBytes, payloadOffset } = layoutOf(type);
      return liftCase(access, type, readUint(view, at, discriminantBytes), (payload) =>
        load(access, at + payloadOffset, payload),
      );
    }
    case "own":
    case "borrow":
      return liftHandle(access, view.getUint32(at, true), type.kind, type.resource);
    case "unsupported":
      throw new AbiError(`values of type ${type.what} are not supported`);
  }
}

/** Reads consecutive values, such as the fields of a record, from an address that has been checked. */
export function loadFields(access: MemoryAccess, at: number, types: readonly ValueType[]): ComponentValue[] {
  let next = at;
  return types.map((type) => {
    const { alignment, size } = layoutOf(type);
    const start = alignUp(next, alignment);
    next = start + size;
    return load(access, start, type);
  });
}

/**
 * Reads a list.
 *
 * @param at The address of its first item.
 * @param length The number of its items.
 */
export function loadList(
  access: MemoryAccess,
  at: number,
  length: number,
  element: ValueType,
): ComponentValue {
  const { alignment, size } = layoutOf(element);
  if (length * size > MAX_BYTES) throw new AbiError("a list is too long");
  access.check(at, alignment, length * size);
  if (element.kind === "u8") {
    access.budget.charge(length, length);
    return access.bytes(at, length).slice();
  }
  checkItems(length);
  access.budget.charge(length * liftedSize(element), length * LEAST_ITEM_BYTES);
  return Array.from({ length }, (_, index) => load(access, at + index * size, element));
}

function readUint(view: DataView, at: number, bytes: number): number {
  if (bytes === 1) return view.getUint8(at);
  return bytes === 2 ? view.getUint16(at, true) : view.getUint32(at, true);
}
