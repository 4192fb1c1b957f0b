import fc from "fast-check";
import { Handles } from "../../../../src/sandboxes/wasm/abi/handles.ts";
import { layoutOf } from "../../../../src/sandboxes/wasm/abi/layout.ts";
import { store } from "../../../../src/sandboxes/wasm/abi/load-store.ts";
import { MemoryAccess } from "../../../../src/sandboxes/wasm/abi/memory-access.ts";
import type { ComponentValue } from "../../../../src/sandboxes/wasm/abi/value.ts";
import { argumentsFromJson } from "../../../../src/sandboxes/wasm/exports/json.ts";
import type { ValueType } from "../../../../src/sandboxes/wasm/linking/value-type.ts";
import { roomyBudget } from "../../../fixtures/wasm/lift-budget.ts";
import { typesWithJson } from "../../../fixtures/wasm/types.ts";
import { type Encoding, MEMORY_BYTES, RESULT_AT } from "./value-component.ts";

/** A type with a value, and changes of the bytes that the value takes in memory. */
export interface RandomValue {
  readonly type: ValueType;
  readonly value: ComponentValue;
  /** The same, as JSON text. */
  readonly json: string;
  /** Each is a list of changes: a position, from 0 to 1, and a byte. */
  readonly changes: readonly (readonly (readonly [position: number, byte: number])[])[];
}

const byte = fc.oneof(
  fc.integer({ min: 0, max: 8 }),
  fc.constantFrom(0x7f, 0x80, 0xc2, 0xd8, 0xef, 0xff),
  fc.nat(255),
);
const position = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const change = fc.array(fc.tuple(position, byte), { minLength: 1, maxLength: 3 });

/** Returns random types, each with a value and changes of its bytes. */
export function randomValues(count: number, seed: number): readonly RandomValue[] {
  const changes = fc.array(change, { minLength: 6, maxLength: 6 });
  return fc
    .sample(fc.tuple(typesWithJson(), changes), { numRuns: count, seed })
    .map(([{ type, json }, made]) => {
      const [value] = argumentsFromJson([{ name: "a", type }], json === undefined ? {} : { a: json });
      return { type, value, json: JSON.stringify(json ?? null), changes: made };
    });
}

/** Returns the bytes of a value in a memory from {@link RESULT_AT}, with everything that it points to. */
export function bytesOf({ type, value }: RandomValue, encoding: Encoding): Uint8Array {
  const memory = new WebAssembly.Memory({ initial: MEMORY_BYTES / 65_536 });
  let next = RESULT_AT;
  const access = new MemoryAccess({
    component: 0,
    memory,
    encoding,
    handles: new Handles(),
    budget: roomyBudget(),
    realloc: (_old, _oldSize, alignment, size) => {
      const at = Math.ceil(next / alignment) * alignment;
      next = at + size;
      return at;
    },
  });
  store(access, value, access.allocate(layoutOf(type).alignment, layoutOf(type).size), type);
  return new Uint8Array(memory.buffer.slice(RESULT_AT, next));
}
