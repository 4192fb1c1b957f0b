import { parse } from "@bytecodealliance/jco-transpile/wasm-tools";
import { describe, expect, test } from "vitest";
// Inside: what code can change decides only how an instance is restored, which no call shows.
import { mutableGlobals } from "../../../../src/sandboxes/wasm/component/prepared-code.ts";
import { readCoreModule } from "../../../../src/sandboxes/wasm/core-module/core-module.ts";

async function globalsOf(fields: string): Promise<readonly number[] | undefined> {
  return mutableGlobals(readCoreModule(await parse(`(module ${fields})`)));
}

describe("what the code of a core module can change", () => {
  test.each([
    ["nothing", "(func)", []],
    ["nothing, as its globals are constant", "(global i32 (i32.const 1)) (global f64 (f64.const 1))", []],
    [
      "its own mutable globals, which stand behind the ones that it imports",
      `(import "a" "g" (global (mut i32))) (import "a" "f" (func)) (import "a" "h" (global i64))
       (global (mut i32) (i32.const 70000)) (global i32 (global.get 1)) (global (mut i64) (i64.const -1))
       (global (mut f32) (f32.const 11)) (global (mut f64) (f64.const 11))`.replace(
        "(global.get 1)",
        "(i32.const 1)",
      ),
      [2, 4, 5, 6],
    ],
    ["nothing, with variables of any type", "(type $t (func)) (func (local (ref null $t) exnref))", []],
    [
      "no table, though it has one and calls by it",
      "(type $t (func)) (table 1 funcref) (elem (i32.const 0) $f) (func $f (call_indirect (type $t) (i32.const 0)))",
      [],
    ],
    [
      "no segment, though it copies from one",
      '(memory 1) (data $d "x") (func (memory.init $d (i32.const 0) (i32.const 0) (i32.const 1)))',
      [],
    ],
  ])("is %s", async (_what, fields, expected) => {
    expect(await globalsOf(fields)).toEqual(expected);
  });

  test.each([
    ["it sets an element of a table", "(table 1 funcref) (func (table.set 0 (i32.const 0) (ref.null func)))"],
    [
      "it fills a table",
      "(table 1 funcref) (func (table.fill 0 (i32.const 0) (ref.null func) (i32.const 1)))",
    ],
    ["it grows a table", "(table 1 funcref) (func (drop (table.grow 0 (ref.null func) (i32.const 1))))"],
    [
      "it copies within a table",
      "(table 1 funcref) (func (table.copy (i32.const 0) (i32.const 0) (i32.const 0)))",
    ],
    [
      "it initialises a table",
      "(table 1 funcref) (elem $e func) (func (table.init $e (i32.const 0) (i32.const 0) (i32.const 0)))",
    ],
    ["it drops elements", "(elem $e func) (func (elem.drop $e))"],
    ["it drops data", '(memory 1) (data $d "x") (func (data.drop $d))'],
    ["it holds a reference in a global", "(global (mut externref) (ref.null extern))"],
    ["it holds a vector in a global", "(global (mut v128) (v128.const i64x2 0 0))"],
    ["it has very many mutable globals", "(global (mut i32) (i32.const 0)) ".repeat(65)],
  ])("cannot be told in full where %s", async (_where, fields) => {
    expect(await globalsOf(fields)).toBeUndefined();
  });

  test("is told where a number has more bytes than it needs, as V8 takes it", () => {
    // i32.load with the offset 0 in ten bytes: the 64-bit form, which V8 takes for every memory.
    const offset = [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00];
    const body = [0x00, 0x41, 0x00, 0x28, 0x00, ...offset, 0x1a, 0x0b];
    const code = [0x01, body.length, ...body];
    const binary = Uint8Array.of(
      0x00,
      0x61,
      0x73,
      0x6d,
      0x01,
      0x00,
      0x00,
      0x00,
      0x01,
      0x04,
      0x01,
      0x60,
      0x00,
      0x00,
      0x03,
      0x02,
      0x01,
      0x00,
      0x05,
      0x03,
      0x01,
      0x00,
      0x01,
      0x0a,
      code.length,
      ...code,
    );
    expect(WebAssembly.validate(binary)).toBe(true);
    expect(mutableGlobals(readCoreModule(binary))).toEqual([]);
  });
});
