import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "@bytecodealliance/jco-transpile/wasm-tools";
import { afterAll, describe, expect, test } from "vitest";
import { WasmSandbox } from "../../../../src/sandboxes/wasm/wasm-sandbox.ts";
import { wasmTask } from "../../../fixtures/wasm/task.ts";

const cacheDirectory = mkdtempSync(join(tmpdir(), "sandgate-valid-"));
const sandbox = new WasmSandbox({ cacheDirectory, workers: { threads: 1 } });
afterAll(async () => {
  await sandbox.close();
  rmSync(cacheDirectory, { recursive: true });
});

/** The core instance `$i` of a module that allocates, and fields of it. */
function core(fields: string): string {
  return `(core module $m
    (memory (export "memory") 1)
    (global $free (mut i32) (i32.const 1024))
    (func (export "realloc") (param i32 i32 i32 i32) (result i32)
      global.get $free
      (global.set $free (i32.add (global.get $free) (i32.and (i32.add (local.get 3) (i32.const 7)) (i32.const -8)))))
    ${fields})
    (core instance $i (instantiate $m))`;
}

const MEMORY = '(memory $i "memory") (realloc (func $i "realloc"))';
const SEVEN = `${core('(func (export "f") (result i32) i32.const 7)')}
  (func $f (result u32) (canon lift (core func $i "f")))`;

/** Echoes a text through strings in an encoding. */
const echo = (encoding: string): string => `(component
  ${core(`(func (export "f") (param i32 i32) (result i32)
    (i32.store (i32.const 16) (local.get 0)) (i32.store (i32.const 20) (local.get 1)) i32.const 16)`)}
  (func (export "f") (param "v" string) (result string)
    (canon lift (core func $i "f") ${MEMORY} string-encoding=${encoding})))`;

/** Runs the export `f` of a component. */
async function run(wat: string, input = {}): Promise<unknown> {
  const component = await parse(wat);
  const wasm = { component, export: "f" };
  await sandbox.prepare({ wasm });
  const outcome = await sandbox.run(wasmTask(component, "f", input, { implementations: { wasm }, input }));
  return "output" in outcome ? outcome.output : outcome;
}

describe("a valid component runs", () => {
  test.each(["utf8", "utf16", "latin1+utf16"])("with strings in %s", async (encoding) => {
    for (const v of ["", "plain", "é ÿ", "日本 🦀 é"]) expect(await run(echo(encoding), { v })).toBe(v);
  });

  test("with two memories, between which it copies", async () => {
    const fields = `(memory $second 1) (data (memory $second) (i32.const 8) "\\2a")
      (func (export "f") (result i32)
        (memory.copy 0 $second (i32.const 64) (i32.const 8) (i32.const 4)) (i32.load (i32.const 64)))`;
    expect(
      await run(
        `(component ${core(fields)} (func (export "f") (result u32) (canon lift (core func $i "f"))))`,
      ),
    ).toBe(42);
  });

  test.each([
    ["a type", '(type $t (record (field "a" u8))) (export "t" (type $t))'],
    ["a component", `(component $c (component (export "inner"))) (export "c" (component $c))`],
    ["a core module", '(core module $n) (export "n" (core module $n))'],
    [
      "an instance with a type, a component and a function",
      `(component $c) (type $t u8)
      (instance $all (export "c" (component $c)) (export "t" (type $t)) (export "f" (func $f))) (export "all" (instance $all))`,
    ],
  ])("that exports %s besides functions", async (_what, exported) => {
    expect(await run(`(component ${SEVEN} (export "f" (func $f)) ${exported})`)).toBe(7);
  });

  test.each([
    [
      "an instance type",
      '(type (instance (core type $m (module (type $f (func (param i32))) (import "a" "b" (func (type $f))))) (export "t" (type (sub resource)))))',
    ],
    [
      "a component type",
      '(type (component (core type $m (module (type $f (func)) (import "" "m" (memory 1)) (export "g" (global i32)) (export "t" (table 1 funcref)))) (import "m" (core module (type $m)))))',
    ],
    [
      "itself, and in types inside",
      "(core type $f (func)) (type (instance (alias outer 1 $f (core type $g))))",
    ],
  ])("that has core types in %s", async (_where, types) => {
    expect(await run(`(component ${types} ${SEVEN} (export "f" (func $f)))`)).toBe(7);
  });

  test("whose nested component gets a core module and a component as imports", async () => {
    const wat = `(component
      (core module $given (func (export "f") (result i32) i32.const 7))
      (component $unused)
      (component $c
        (import "m" (core module $m (export "f" (func (result i32)))))
        (import "c" (component))
        (core instance $i (instantiate $m))
        (func (export "f") (result u32) (canon lift (core func $i "f"))))
      (instance $n (instantiate $c (with "m" (core module $given)) (with "c" (component $unused))))
      (export "f" (func $n "f")))`;
    expect(await run(wat)).toBe(7);
  });
});

describe("a component is refused by the name of what is not supported, when its tool is prepared", () => {
  const exported = (
    type: string,
    params = "i32",
  ): string => `(component ${core(`(func (export "f") (param ${params}))`)}
    (type $t ${type})
    (export $n "t" (type $t))
    (func (export "f") (param "v" $n) (canon lift (core func $i "f") ${MEMORY})))`;
  const calling = (type: string, params: string): string => `(component
    (component $c ${core(`(func (export "g") (param ${params}))`)}
      (func (export "g") (param "v" ${type}) (canon lift (core func $i "g") ${MEMORY})))
    (instance $c (instantiate $c))
    ${core('(func (export "f") (result i32) i32.const 7)')}
    (alias core export $i "memory" (core memory $memory))
    (core func (canon lower (func $c "g") (memory $memory)))
    (func (export "f") (result u32) (canon lift (core func $i "f"))))`;

  test.each([
    [
      "map",
      exported("(map string u32)", "i32 i32"),
      /'f' cannot be a tool: it takes or returns a map, which is not supported/,
    ],
    ["stream", exported("(stream u8)"), /takes or returns a stream,/],
    ["future", exported("(future u8)"), /takes or returns a future,/],
    ["list of fixed length", exported("(list u8 2)", "i32 i32"), /takes or returns a list of fixed length,/],
    ["error-context", exported("error-context"), /takes or returns a error-context,/],
    [
      "map that a nested component takes",
      calling("(map string u32)", "i32 i32"),
      /it calls a function that takes or returns a map,/,
    ],
    [
      "stream that a nested component takes",
      calling("(stream u8)", "i32"),
      /it calls a function that takes or returns a stream,/,
    ],
    [
      "stream.new",
      "(component (type $s (stream u8)) (core func (canon stream.new $s)))",
      /the built-in 'stream.new', which is not supported/,
    ],
    [
      "future.drop-readable",
      "(component (type $s (future u8)) (core func (canon future.drop-readable $s)))",
      /'future.drop-readable'/,
    ],
    ["task.return", "(component (core func (canon task.return)))", /'task.return'/],
    ["waitable-set.new", "(component (core func (canon waitable-set.new)))", /'waitable-set.new'/],
    ["backpressure.inc", "(component (core func (canon backpressure.inc)))", /'backpressure.inc'/],
    [
      "async",
      `(component ${core('(func (export "f") (result i32) i32.const 7)')}
      (func (export "f") async (result u32) (canon lift (core func $i "f"))))`,
      /it is asynchronous/,
    ],
    [
      "async lift",
      `(component ${core('(func (export "f") (result i32) i32.const 7) (func (export "cb") (param i32 i32 i32) (result i32) i32.const 0)')}
      (func (export "f") async (canon lift (core func $i "f") async (callback (func $i "cb")))))`,
      /with 'async', which is not supported/,
    ],
    [
      "64-bit memory",
      `(component (core module (memory i64 1)) ${SEVEN} (export "f" (func $f)))`,
      /64-bit memory/,
    ],
    [
      "garbage-collected types",
      `(component (core module (type (struct))) ${SEVEN} (export "f" (func $f)))`,
      /garbage-collected/,
    ],
  ])("%s", async (_what, wat, reason) => {
    const wasm = { component: await parse(wat), export: "f" };
    await expect(sandbox.prepare({ wasm })).rejects.toThrow(reason);
  });
});
