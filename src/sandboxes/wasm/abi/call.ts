import type { FunctionType, ValueType } from "../linking/value-type.ts";
import { type CoreValue, liftFlat, lowerFlat, takeFrom } from "./flat.ts";
import { type Layout, layoutOf, MAX_FLAT } from "./layout.ts";
import { liftedSize } from "./lifted-size.ts";
import { load } from "./load.ts";
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
