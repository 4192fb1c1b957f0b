import { fieldsOf, type ValueType } from "../linking/value-type.ts";
import { type CoreType, layoutOf } from "./layout.ts";
import { loadList } from "./load.ts";
import type { MemoryAccess } from "./memory-access.ts";
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
import { storeList } from "./store.ts";
import { loadString, storeString } from "./strings.ts";
import { AbiError, type ComponentValue } from "./value.ts";

/** A value of core WebAssembly. An i64 is a bigint. */
export type CoreValue = number | bigint;

/** Returns the next core value. `type` is the type that the caller expects. */
export type CoreValues = (type: CoreType) => CoreValue;

/** Returns a reader that takes core values from an array, in order. */
export function takeFrom(values: readonly CoreValue[]): CoreValues {
  let next = 0;
  return () => values[next++] ?? 0;
}

/**
 * Reads a value from core values (`CanonicalABI.md`, `lift_flat`). What is charged to the budget is as for `load`.
 *
 * @throws {AbiError} if the core values do not form a value of this type.
 */
export function liftFlat(access: MemoryAccess, take: CoreValues, type: ValueType): ComponentValue {
  switch (type.kind) {
    case "bool":
      return take("i32") !== 0;
    case "s8":
      return (Number(take("i32")) << 24) >> 24;
    case "u8":
      return Number(take("i32")) & 0xff;
    case "s16":
      return (Number(take("i32")) << 16) >> 16;
    case "u16":
      return Number(take("i32")) & 0xffff;
    case "s32":
      return Number(take("i32")) | 0;
    case "u32":
      return Number(take("i32")) >>> 0;
    case "s64":
      return BigInt.asIntN(64, BigInt(take("i64")));
    case "u64":
      return BigInt.asUintN(64, BigInt(take("i64")));
    case "f32":
    case "f64":
      return take(type.kind);
    case "char":
      return liftChar(Number(take("i32")) >>> 0);
    case "string": {
      const at = Number(take("i32")) >>> 0;
      return loadString(access, at, Number(take("i32")) >>> 0);
    }
    case "list": {
      const at = Number(take("i32")) >>> 0;
      return loadList(access, at, Number(take("i32")) >>> 0, type.element);
    }
    case "record":
    case "tuple":
      return packFields(
        type,
        (fieldsOf(type) ?? []).map((field) => liftFlat(access, take, field)),
      );
    case "flags":
      return liftFlags(Number(take("i32")), type.names);
    case "variant":
    case "enum":
    case "option":
    case "result":
      return liftFlatCase(access, take, type);
    case "own":
    case "borrow":
      return liftHandle(access, Number(take("i32")) >>> 0, type.kind, type.resource);
    case "unsupported":
      throw new AbiError(`values of type ${type.what} are not supported`);
  }
}

type CaseType = Parameters<typeof lowerCase>[0];

/** All cases share the same core values, each of which is wide enough for every case. */
function liftFlatCase(access: MemoryAccess, take: CoreValues, type: CaseType): ComponentValue {
  const [, ...shared] = layoutOf(type).flat;
  const index = Number(take("i32")) >>> 0;
  const values = shared.map((core) => take(core));
  return liftCase(access, type, index, (payload) => {
    let next = 0;
    return liftFlat(access, (want) => narrow(values[next] ?? 0, shared[next++] ?? "i32", want), payload);
  });
}

const convert = new DataView(new ArrayBuffer(8));

function narrow(value: CoreValue, have: CoreType, want: CoreType): CoreValue {
  if (have === want) return value;
  if (want === "i32") return Number(BigInt.asUintN(32, BigInt(value)));
  if (want === "f64") {
    convert.setBigUint64(0, BigInt.asUintN(64, BigInt(value)));
    return convert.getFloat64(0);
  }
  convert.setUint32(0, Number(BigInt.asUintN(32, BigInt(value))));
  return convert.getFloat32(0);
}

/** Appends a value to `values` as core values (`CanonicalABI.md`, `lower_flat`). */
export function lowerFlat(
  access: MemoryAccess,
  value: ComponentValue,
  type: ValueType,
  values: CoreValue[],
): void {
  switch (type.kind) {
    case "bool":
      values.push(value === true ? 1 : 0);
      return;
    case "s64":
    case "u64":
      values.push(value as bigint);
      return;
    case "f32":
    case "f64":
      values.push(lowerFloat(value as number));
      return;
    case "char":
      values.push(lowerChar(value as string));
      return;
    case "string":
      values.push(...storeString(access, value as string));
      return;
    case "list":
      values.push(...storeList(access, value, type.element));
      return;
    case "record":
    case "tuple":
      for (const [index, part] of unpackFields(type, value).entries()) {
        const field = fieldsOf(type)?.[index];
        if (field !== undefined) lowerFlat(access, part, field, values);
      }
      return;
    case "flags":
      values.push(lowerFlags(value as readonly string[], type.names));
      return;
    case "variant":
    case "enum":
    case "option":
    case "result":
      lowerFlatCase(access, value, type, values);
      return;
    case "own":
    case "borrow":
      values.push(lowerHandle(access, value, type.kind, type.resource));
      return;
    case "unsupported":
      throw new AbiError(`values of type ${type.what} are not supported`);
    default:
      values.push(value as number);
  }
}

function lowerFlatCase(
  access: MemoryAccess,
  value: ComponentValue,
  type: CaseType,
  values: CoreValue[],
): void {
  const [, ...shared] = layoutOf(type).flat;
  const { index, payload, type: of } = lowerCase(type, value);
  values.push(index);
  const own: CoreValue[] = [];
  if (of !== undefined) lowerFlat(access, payload, of, own);
  const have = of === undefined ? [] : layoutOf(of).flat;
  for (const [at, want] of shared.entries()) {
    const core = own[at];
    if (core === undefined) values.push(want === "i64" ? 0n : 0);
    else values.push(widen(core, have[at] ?? want, want));
  }
}

function widen(value: CoreValue, have: CoreType, want: CoreType): CoreValue {
  if (have === want) return value;
  if (have === "i32") return BigInt(Number(value) >>> 0);
  if (have === "f64") {
    convert.setFloat64(0, Number(value));
    return convert.getBigUint64(0);
  }
  convert.setFloat32(0, Number(value));
  return want === "i32" ? convert.getUint32(0) : BigInt(convert.getUint32(0));
}
