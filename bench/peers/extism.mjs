// extism: a new plugin from a compiled module for each call.
import { parse } from "@bytecodealliance/jco-transpile/wasm-tools";
import { createPlugin } from "@extism/extism";

// A plugin that copies the input to its memory and back to the output, byte by byte, as its SDKs do.
const EXTISM_ECHO = `(module
  (import "extism:host/env" "input_length" (func $length (result i64)))
  (import "extism:host/env" "input_load_u8" (func $load (param i64) (result i32)))
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "store_u8" (func $store (param i64 i32)))
  (import "extism:host/env" "output_set" (func $output (param i64 i64)))
  (memory (export "memory") 1)
  (func (export "echo") (result i32) (local $at i64) (local $to i64)
    (local.set $to (call $alloc (call $length)))
    (block $read (loop $next
      (br_if $read (i64.ge_u (local.get $at) (call $length)))
      (i32.store8 (i32.wrap_i64 (local.get $at)) (call $load (local.get $at)))
      (local.set $at (i64.add (local.get $at) (i64.const 1)))
      (br $next)))
    (local.set $at (i64.const 0))
    (block $written (loop $next
      (br_if $written (i64.ge_u (local.get $at) (call $length)))
      (call $store (i64.add (local.get $to) (local.get $at)) (i32.load8_u (i32.wrap_i64 (local.get $at))))
      (local.set $at (i64.add (local.get $at) (i64.const 1)))
      (br $next)))
    (call $output (local.get $to) (call $length))
    i32.const 0))`;

export async function open({ INPUT_TEXT }) {
  const module = await WebAssembly.compile(await parse(EXTISM_ECHO));
  return {
    run: async () => {
      const plugin = await createPlugin(module, { useWasi: false });
      const output = await plugin.call("echo", INPUT_TEXT);
      await plugin.close();
      return output.text();
    },
  };
}
