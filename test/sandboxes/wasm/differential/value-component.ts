import { componentEmbed, componentNew, parse } from "@bytecodealliance/jco-transpile/wasm-tools";
import { layoutOf, MAX_FLAT } from "../../../../src/sandboxes/wasm/abi/layout.ts";
import type { ValueType } from "../../../../src/sandboxes/wasm/linking/value-type.ts";
import { WitTypes } from "./wit-types.ts";

/** Where `put` stores what it is called with: a core value in each slot of 8 bytes. */
export const SLOTS_AT = 0;
/** Where `get` has its result. */
export const RESULT_AT = 256;
/** Where its allocator starts. */
export const HEAP_AT = 32_768;
/** The size of its memory. */
export const MEMORY_BYTES: number = 2 * 65_536;

/** The encodings of strings that jco's generator supports. */
export type Encoding = "utf8" | "utf16";

/**
 * A component that makes both directions of the canonical ABI visible, for each type: `putN` takes a value, and stores
 * the core values that it got; `getN` returns the value that is in its memory. `poke` and `dump` write and read memory.
 */
export async function valueComponent(types: readonly ValueType[], encoding: Encoding): Promise<Uint8Array> {
  const wit = new WitTypes();
  const names = types.map((type) => wit.write(type));
  const witSource = `package test:values; world values {
    ${wit.declarations.join("\n")}
    export poke: func(at: u32, bytes: list<u8>);
    export dump: func(at: u32, length: u32) -> list<u8>;
    ${names.map((name, index) => `export put${index}: func(v: ${name}); export get${index}: func() -> ${name};`).join("\n")}
  }`;
  const binary = await parse(coreModule(types));
  return componentNew(await componentEmbed({ binary, witSource, world: "values", stringEncoding: encoding }));
}

function coreModule(types: readonly ValueType[]): string {
  return `(module
    (memory (export "memory") ${MEMORY_BYTES / 65_536})
    (global $free (mut i32) (i32.const ${HEAP_AT}))
    (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (local $at i32)
      (local.set $at (i32.and
        (i32.add (global.get $free) (i32.sub (local.get 2) (i32.const 1)))
        (i32.sub (i32.const 0) (local.get 2))))
      (global.set $free (i32.add (local.get $at) (local.get 3)))
      local.get $at)
    (func (export "poke") (param $at i32) (param $from i32) (param $length i32)
      (memory.copy (local.get $at) (local.get $from) (local.get $length)))
    (func (export "dump") (param $at i32) (param $length i32) (result i32)
      (i32.store (i32.const 240) (local.get $at))
      (i32.store (i32.const 244) (local.get $length))
      i32.const 240)
    ${types.map(putAndGet).join("\n")})`;
}

function putAndGet(type: ValueType, index: number): string {
  const { flat } = layoutOf(type);
  const params = flat.length > MAX_FLAT ? ["i32"] : flat;
  const stores = params.map(
    (core, slot) => `(${core}.store (i32.const ${SLOTS_AT + slot * 8}) (local.get ${slot}))`,
  );
  const [only = "i32"] = flat;
  const result = flat.length === 1 ? `(${only}.load (i32.const ${RESULT_AT}))` : `(i32.const ${RESULT_AT})`;
  return `(func (export "put${index}") (param ${params.join(" ")}) ${stores.join(" ")})
    (func (export "get${index}") (result ${flat.length === 1 ? only : "i32"}) ${result})`;
}
