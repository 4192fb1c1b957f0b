import { compileFunction } from "node:vm";
import { checkItems, type LiftBudget, LiftBudgetError, TYPED_ARRAY_BYTES } from "../../abi/lift-budget.ts";
import type { JcoProgram } from "../../artifact.ts";

/** `instantiate` of a generated module. */
export type Instantiate = (
  getCoreModule: (file: string) => WebAssembly.Module,
  imports: object,
  instantiateCore: (module: WebAssembly.Module, imports: WebAssembly.Imports) => WebAssembly.Instance,
) => object;

const TYPED_ARRAYS = [
  Uint8Array,
  Int8Array,
  Uint16Array,
  Int16Array,
  Uint32Array,
  Int32Array,
  Float32Array,
  Float64Array,
  BigUint64Array,
  BigInt64Array,
] as const;

/** Globals that the code must not have: it has no use for them here. */
const ABSENT = [
  "process",
  "require",
  "module",
  "exports",
  "fetch",
  "setTimeout",
  "setInterval",
  "setImmediate",
];

/**
 * The maximum size of a map or a set: it has no more entries than V8 made space for when it grew to this power of two.
 */
const MAX_ENTRIES = 262_144;

/** How generated code appends to arrays. A `$` is in no other name of it. */
const APPENDED = /(?<![\w#.$])([\w#.]+)\.push\(/g;
const APPEND = "sandgate$append";

/** Appends to an array, if it does not become so large that V8 could end the process. */
function append(array: unknown[], ...items: readonly unknown[]): number {
  checkItems(array.length + items.length);
  return array.push(...items);
}

class BoundedMap extends Map<unknown, unknown> {
  override set(key: unknown, value: unknown): this {
    if (this.size >= MAX_ENTRIES && !this.has(key)) throw new LiftBudgetError("memoryBytes");
    return super.set(key, value);
  }
}

class BoundedSet extends Set<unknown> {
  override add(value: unknown): this {
    if (this.size >= MAX_ENTRIES && !this.has(value)) throw new LiftBudgetError("memoryBytes");
    return super.add(value);
  }
}

/** Bounded replacements of globals in which a component could make the code put any number of values. */
const BOUNDED = { Map: BoundedMap, Set: BoundedSet, [APPEND]: append };

/** A destructor runs when its resource is dropped, or not at all: no code runs outside of calls. */
class NoFinalization {
  register(): void {}
  unregister(): void {}
}

type Load = (...globals: readonly unknown[]) => Instantiate;

const loads = new WeakMap<JcoProgram, Load>();

/**
 * Loads a generated module. Text and bytes that it takes out of memories are charged to the budget, some of them twice,
 * because jco's code reads arguments of imports twice. Other values are only bounded by the heap of the thread.
 */
export function loadGenerated(program: JcoProgram, budget: LiftBudget): Instantiate {
  const globals = {
    ...chargingGlobals(budget),
    ...BOUNDED,
    FinalizationRegistry: NoFinalization,
    globalThis: {},
  };
  const names = [...Object.keys(globals), ...ABSENT];
  const load = loads.get(program) ?? compile(program, names);
  loads.set(program, load);
  return load(...Object.values(globals));
}

function compile({ source }: JcoProgram, names: readonly string[]): Load {
  const bounded = source.replaceAll(APPENDED, `${APPEND}($1, `);
  const body = `"use strict"; ${bounded.replaceAll(/^export /gm, "")}; return instantiate;`;
  return compileFunction(body, names) as Load;
}

function chargingGlobals(budget: LiftBudget): Record<string, unknown> {
  const globals: Record<string, unknown> = {
    TextDecoder: class extends TextDecoder {
      override decode(...[bytes, options]: Parameters<TextDecoder["decode"]>): string {
        budget.charge((bytes?.byteLength ?? 0) * 2);
        return super.decode(bytes, options);
      }
    },
  };
  for (const TypedArray of TYPED_ARRAYS) {
    globals[TypedArray.name] = new Proxy(TypedArray, {
      construct(target, args: ConstructorParameters<typeof TypedArray>) {
        // A copy of a part of a memory is a buffer of its own; a view of a memory has an offset and a length.
        if (args.length === 1 && args[0] instanceof ArrayBuffer) {
          budget.charge(args[0].byteLength + TYPED_ARRAY_BYTES);
        }
        return Reflect.construct(target, args) as object;
      },
    });
  }
  return globals;
}
