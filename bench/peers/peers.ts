import { parse } from "@bytecodealliance/jco-transpile/wasm-tools";
import { RELEASE_SYNC } from "quickjs-emscripten";
import { INPUT_TEXT } from "../setting.ts";

/** Another way to run a tool in a heap of its own. */
export interface Peer {
  readonly name: string;
  run(): unknown;
  close(): unknown;
}

const ECHO = "((text) => JSON.stringify(((input) => input)(JSON.parse(text))))";

/**
 * A package of this folder, which is none of ours: `npm ci --prefix bench/peers` installs it.
 *
 * @returns `undefined`, and says so, where it is not installed or does not load.
 */
async function load<Package>(name: string): Promise<Package | undefined> {
  try {
    // The name is none that the compiler could look up: most checkouts do not have it.
    return (await import(name)) as Package;
  } catch {
    console.error(`(${name} is left out: npm ci --prefix bench/peers)`);
    return undefined;
  }
}

interface IsolatedVm {
  readonly default: {
    readonly Isolate: new (options: {
      memoryLimit: number;
    }) => {
      createContextSync(): { evalSync(code: string, options: { timeout: number }): unknown };
      dispose(): void;
    };
  };
}

/** isolated-vm: V8 itself, a new isolate for each call. */
export async function freshIsolate(): Promise<Peer | undefined> {
  const library = await load<IsolatedVm>("isolated-vm");
  if (library === undefined) return undefined;
  return {
    name: "isolated-vm: a new isolate and context, call, dispose",
    run: () => {
      const isolate = new library.default.Isolate({ memoryLimit: 64 });
      const code = `${ECHO}(${JSON.stringify(INPUT_TEXT)})`;
      const output = isolate.createContextSync().evalSync(code, { timeout: 1_000 });
      isolate.dispose();
      return output;
    },
    close: () => {},
  };
}

interface SandboxedQuickJs {
  loadQuickJs(variant: unknown): Promise<{
    runSandboxed(
      run: (sandbox: { evalCode(code: string): Promise<{ readonly data?: unknown }> }) => unknown,
      options: object,
    ): Promise<{ readonly data?: unknown }>;
  }>;
}

/** @sebastianwessel/quickjs: a new sandbox for each call. */
export async function freshSandbox(): Promise<Peer | undefined> {
  const library = await load<SandboxedQuickJs>("@sebastianwessel/quickjs");
  if (library === undefined) return undefined;
  const { runSandboxed } = await library.loadQuickJs(RELEASE_SYNC);
  const code = `export default ${ECHO}(${JSON.stringify(INPUT_TEXT)})`;
  return {
    name: "@sebastianwessel/quickjs: runSandboxed",
    run: async () => (await runSandboxed(({ evalCode }) => evalCode(code), {})).data,
    close: () => {},
  };
}

interface Extism {
  createPlugin(
    wasm: WebAssembly.Module,
    options: { readonly useWasi: boolean },
  ): Promise<{
    call(name: string, input: string): Promise<{ text(): string } | null>;
    close(): Promise<void>;
  }>;
}

/** A plugin that takes the input into its memory, byte by byte, and gives it back out of it, as its SDKs do. */
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

/** extism: a new plugin of a compiled module for each call, in this thread. */
export async function freshPlugin(): Promise<Peer | undefined> {
  const library = await load<Extism>("@extism/extism");
  if (library === undefined) return undefined;
  const module = await WebAssembly.compile((await parse(EXTISM_ECHO)) as BufferSource);
  return {
    name: "extism: fresh plugin and call (in this thread)",
    run: async () => {
      const plugin = await library.createPlugin(module, { useWasi: false });
      const output = await plugin.call("echo", INPUT_TEXT);
      await plugin.close();
      return output?.text();
    },
    close: () => {},
  };
}
