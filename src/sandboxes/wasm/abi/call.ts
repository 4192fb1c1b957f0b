import { type FunctionType, fieldsOf, type ValueType } from "../linking/value-type.ts";
import { type CoreType, type Layout, layoutOf, MAX_FLAT } from "./layout.ts";
import { liftedSize } from "./lift-budget.ts";
import { load, loadList, store, storeFields, storeList } from "./load-store.ts";
import { loadString, type MemoryAccess, storeString } from "./memory-access.ts";
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

/** A value of core WebAssembly. An i64 is a bigint. */
export type CoreValue = number | bigint;

/** Returns the next core value. `type` is the type that the caller expects. */
type CoreValues = (type: CoreType) => CoreValue;

type CaseType = Parameters<typeof lowerCase>[0];

const convert = new DataView(new ArrayBuffer(8));

/** A core function as seen by JavaScript. */
export type CoreFunction = (...values: CoreValue[]) => CoreValue | undefined;

/**
 * Calls a core function as a function of the component model (`CanonicalABI.md`, `canon_lift`).
 *
 * @param postReturn Frees the memory of the result. Called after the result has been read.
 * @throws {AbiError} if the component violates the canonical ABI.
 */
export function callLifted(
  access: MemoryAccess,
  { params, result }: FunctionType,
  core: CoreFunction,
  postReturn: CoreFunction | undefined,
  args: readonly ComponentValue[],
): ComponentValue {
  const { items, layout } = tupleOf(params);
  const values: CoreValue[] = [];
  const task = access.handles.beginTask();
  if (layout.flat.length > MAX_FLAT) {
    const at = access.allocate(layout.alignment, layout.size);
    storeFields(access, args, at, items);
    values.push(at);
  } else {
    for (const [index, type] of items.entries()) lowerFlat(access, args[index], type, values);
  }
  const returned = core(...values);
  // The result stays charged until the caller's crossing ends.
  access.budget.begin();
  const value = result === undefined ? undefined : liftResult(access, returned ?? 0, result);
  access.handles.endTask(task);
  if (postReturn !== undefined) {
    access.handles.withoutLeaving(() => (returned === undefined ? postReturn() : postReturn(returned)));
  }
  return value;
}

/**
 * Wraps a function of the component model as a core function (`CanonicalABI.md`, `canon_lower`).
 *
 * @param getAccess Returns access to the caller's memory. Called for each call, because the memory may not exist yet.
 */
export function lowerFunction(
  getAccess: () => MemoryAccess,
  { params, result }: FunctionType,
  callee: (args: readonly ComponentValue[]) => ComponentValue,
): CoreFunction {
  const { type: tuple, items, layout } = tupleOf(params);
  const isInMemory = layout.flat.length > MAX_FLAT;
  const returnsInMemory = result !== undefined && layoutOf(result).flat.length > 1;
  return (...values) => {
    const access = getAccess();
    const { handles, budget } = access;
    handles.checkMayLeave();
    const begun = budget.begin();
    const { loans } = handles;
    budget.charge(liftedSize(tuple));
    const take = takeFrom(values);
    const args = isInMemory
      ? (loadAt(access, Number(take("i32")) >>> 0, tuple) as readonly ComponentValue[])
      : items.map((type) => liftFlat(access, take, type));
    const value = callee(args);
    let lowered: CoreValue | undefined;
    if (returnsInMemory) storeAt(access, value, Number(values.at(-1) ?? 0) >>> 0, result);
    else if (result !== undefined) lowered = lowerOne(access, value, result);
    handles.endLoans(loans);
    budget.end(begun);
    return lowered;
  };
}

function liftResult(access: MemoryAccess, returned: CoreValue, type: ValueType): ComponentValue {
  access.budget.charge(liftedSize(type));
  if (layoutOf(type).flat.length > 1) return loadAt(access, Number(returned) >>> 0, type);
  return liftFlat(access, takeFrom([returned]), type);
}

/** Reads a value from an address that the component passed. */
function loadAt(access: MemoryAccess, at: number, type: ValueType): ComponentValue {
  const { alignment, size } = layoutOf(type);
  access.check(at, alignment, size);
  return load(access, at, type);
}

/** Writes a value to an address that the component passed. */
function storeAt(access: MemoryAccess, value: ComponentValue, at: number, type: ValueType): void {
  const { alignment, size } = layoutOf(type);
  access.check(at, alignment, size);
  store(access, value, at, type);
}

/** Lowers a value of a type that takes a single core value. */
function lowerOne(access: MemoryAccess, value: ComponentValue, type: ValueType): CoreValue | undefined {
  const lowered: CoreValue[] = [];
  lowerFlat(access, value, type, lowered);
  return lowered[0];
}

/** Parameters as the ABI passes them: as one tuple. */
interface ParameterTuple {
  readonly type: ValueType;
  readonly items: readonly ValueType[];
  readonly layout: Layout;
}

const tuples = new WeakMap<FunctionType["params"], ParameterTuple>();

function tupleOf(params: FunctionType["params"]): ParameterTuple {
  const known = tuples.get(params);
  if (known !== undefined) return known;
  const items = params.map(({ type }) => type);
  const type: ValueType = { kind: "tuple", items };
  const tuple = { type, items, layout: layoutOf(type) };
  tuples.set(params, tuple);
  return tuple;
}

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
