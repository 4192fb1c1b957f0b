import { fieldsOf, type ValueType } from "../linking/value-type.ts";
import { alignUp, layoutOf, MAX_BYTES } from "./layout.ts";
import { checkItems, liftedSize } from "./lift-budget.ts";
import { loadString, type MemoryAccess, storeBytes, storeString } from "./memory-access.ts";
import {
  liftCase,
  liftChar,
  liftFlags,
  liftHandle,
  lowerCase,
  lowerChar,
  lowerFlags,
  lowerFloat,
  lowerHandle,
  packFields,
  unpackFields,
} from "./shapes.ts";
import { AbiError, type ComponentValue } from "./value.ts";

/** The minimum size of a list item in bytes of JSON text: one character and a comma. */
const LEAST_ITEM_BYTES = 2;

/**
 * Writes a value of a type to a component's memory (`CanonicalABI.md`, `store`).
 *
 * @param at An address that has been checked.
 * @throws {AbiError} if memory cannot be allocated.
 */
export function store(access: MemoryAccess, value: ComponentValue, at: number, type: ValueType): void {
  const { view } = access;
  switch (type.kind) {
    case "bool":
      view.setUint8(at, value === true ? 1 : 0);
      return;
    case "s8":
    case "u8":
      view.setUint8(at, Number(value));
      return;
    case "s16":
    case "u16":
      view.setUint16(at, Number(value), true);
      return;
    case "s32":
    case "u32":
      view.setUint32(at, Number(value), true);
      return;
    case "s64":
    case "u64":
      view.setBigUint64(at, value as bigint, true);
      return;
    case "f32":
      view.setFloat32(at, lowerFloat(value as number), true);
      return;
    case "f64":
      view.setFloat64(at, lowerFloat(value as number), true);
      return;
    case "char":
      view.setUint32(at, lowerChar(value as string), true);
      return;
    case "string":
      storePair(access, at, storeString(access, value as string));
      return;
    case "list":
      storePair(access, at, storeList(access, value, type.element));
      return;
    case "record":
    case "tuple":
      storeFields(access, unpackFields(type, value), at, fieldsOf(type) ?? []);
      return;
    case "flags":
      writeUint(view, at, layoutOf(type).size, lowerFlags(value as readonly string[], type.names));
      return;
    case "variant":
    case "enum":
    case "option":
    case "result": {
      const { discriminantBytes, payloadOffset } = layoutOf(type);
      const { index, payload, type: of } = lowerCase(type, value);
      writeUint(view, at, discriminantBytes, index);
      if (of !== undefined) store(access, payload, at + payloadOffset, of);
      return;
    }
    case "own":
    case "borrow":
      view.setUint32(at, lowerHandle(access, value, type.kind, type.resource), true);
      return;
    case "unsupported":
      throw new AbiError(`values of type ${type.what} are not supported`);
  }
}

/** Writes consecutive values, such as the fields of a record. */
export function storeFields(
  access: MemoryAccess,
  values: readonly ComponentValue[],
  at: number,
  types: readonly ValueType[],
): void {
  let next = at;
  for (const [index, type] of types.entries()) {
    const { alignment, size } = layoutOf(type);
    const start = alignUp(next, alignment);
    next = start + size;
    store(access, values[index], start, type);
  }
}

/** Writes a list to memory that the component allocates. Returns its address and the number of its items. */
export function storeList(
  access: MemoryAccess,
  value: ComponentValue,
  element: ValueType,
): readonly [at: number, length: number] {
  if (value instanceof Uint8Array) return [storeBytes(access, value, 1), value.length];
  const items = value as readonly ComponentValue[];
  const { alignment, size } = layoutOf(element);
  const at = access.allocate(alignment, items.length * size);
  for (const [index, item] of items.entries()) store(access, item, at + index * size, element);
  return [at, items.length];
}

function storePair(access: MemoryAccess, at: number, [first, second]: readonly [number, number]): void {
  // Gets the view again, because the component may have grown its memory to allocate.
  access.view.setUint32(at, first, true);
  access.view.setUint32(at + 4, second, true);
}

function writeUint(view: DataView, at: number, bytes: number, value: number): void {
  if (bytes === 1) view.setUint8(at, value);
  else if (bytes === 2) view.setUint16(at, value, true);
  else view.setUint32(at, value, true);
}

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
function loadFields(access: MemoryAccess, at: number, types: readonly ValueType[]): ComponentValue[] {
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
