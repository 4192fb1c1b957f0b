import { fieldsOf, type ValueType } from "../linking/value-type.ts";
import { alignUp, layoutOf } from "./layout.ts";
import type { MemoryAccess } from "./memory-access.ts";
import { lowerCase, lowerChar, lowerFlags, lowerFloat, lowerHandle, unpackFields } from "./shapes.ts";
import { storeBytes, storeString } from "./strings.ts";
import { AbiError, type ComponentValue } from "./value.ts";

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
