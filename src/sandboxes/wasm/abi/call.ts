import type { FunctionType, ValueType } from "../linking/value-type.ts";
import { type CoreValue, liftFlat, lowerFlat, takeFrom } from "./flat.ts";
import { layoutOf, MAX_FLAT } from "./layout.ts";
import { load, loadFields } from "./load.ts";
import type { MemoryAccess } from "./memory-access.ts";
import { store, storeFields } from "./store.ts";
import type { ComponentValue } from "./value.ts";

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
  const types = params.map(({ type }) => type);
  const values: CoreValue[] = [];
  const { flat, alignment, size } = layoutOfParams(params);
  if (flat.length > MAX_FLAT) {
    const at = access.allocate(alignment, size);
    storeFields(access, args, at, types);
    values.push(at);
  } else {
    for (const [index, type] of types.entries()) lowerFlat(access, args[index], type, values);
  }
  const returned = core(...values);
  access.budget.refill();
  const value = result === undefined ? undefined : liftResult(access, returned ?? 0, result);
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
  const types = params.map(({ type }) => type);
  const isInMemory = layoutOfParams(params).flat.length > MAX_FLAT;
  const returnsInMemory = result !== undefined && layoutOf(result).flat.length > 1;
  return (...values) => {
    const access = getAccess();
    access.handles.checkMayLeave();
    access.budget.refill();
    const take = takeFrom(values);
    const args = isInMemory
      ? loadFields(access, Number(take("i32")) >>> 0, types)
      : types.map((type) => liftFlat(access, take, type));
    const value = callee(args);
    if (result === undefined) return undefined;
    if (returnsInMemory) {
      store(access, value, Number(values.at(-1) ?? 0) >>> 0, result);
      return undefined;
    }
    const lowered: CoreValue[] = [];
    lowerFlat(access, value, result, lowered);
    return lowered[0];
  };
}

function liftResult(access: MemoryAccess, returned: CoreValue, type: ValueType): ComponentValue {
  if (layoutOf(type).flat.length > 1) return load(access, Number(returned) >>> 0, type);
  return liftFlat(access, takeFrom([returned]), type);
}

const tuples = new WeakMap<FunctionType["params"], ValueType>();

function layoutOfParams(params: FunctionType["params"]): ReturnType<typeof layoutOf> {
  let tuple = tuples.get(params);
  if (tuple === undefined) {
    tuple = { kind: "tuple", items: params.map(({ type }) => type) };
    tuples.set(params, tuple);
  }
  return layoutOf(tuple);
}
