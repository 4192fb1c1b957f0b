import { parse } from "@bytecodealliance/jco-transpile/wasm-tools";
import { describe, expect, test } from "vitest";
// Inside: whether a start function ends at once decides only if it gets a deadline.
import { startsAtOnce } from "../../../../src/sandboxes/wasm/component/prepared-code.ts";
import { readCoreModule } from "../../../../src/sandboxes/wasm/core-module/core-module.ts";

async function starts(fields: string): Promise<boolean> {
  return startsAtOnce(readCoreModule(await parse(`(module ${fields})`)));
}

/** Functions of which each calls the next one twice: 2^n instructions. */
function fanOut(depth: number): string {
  const calls = Array.from({ length: depth }, (_, n) => `(func $f${n} call $f${n + 1} call $f${n + 1})`);
  return `(start $f0) ${calls.join(" ")} (func $f${depth})`;
}

describe("a core module is over with its start at once", () => {
  test.each([
    ["it has no start function", "(func (loop (br 0)))"],
    [
      "the start only goes forward",
      "(global $g (mut i32) (i32.const 0)) (func $s i32.const 7 global.set $g) (start $s)",
    ],
    [
      "the start branches, calculates, and reads and writes memory",
      `(import "a" "b" (func)) (memory 1) (start $s)
       (func $s (local i64 f64 v128) (block (br_if 0 (i32.load8_u offset=300 (i32.const 70000))))
         (if (i64.eqz (i64.const -9999999999)) (then (i32.store (i32.const 0) (memory.size))) (else call $t)))
       (func $t (drop (f64.add (f64.const 1.5) (f64.promote_f32 (f32.const 1)))))`,
    ],
    ["the functions that it calls are few", fanOut(8)],
    [
      "it has a variable of a type of several bytes",
      "(type $t (func)) (func $s (local (ref null $t))) (start $s)",
    ],
  ])("if %s", async (_when, fields) => {
    expect(await starts(fields)).toBe(true);
  });

  test.each([
    ["it loops", "(func $s (loop (br 0))) (start $s)"],
    ["what it calls loops", "(func $s call $t) (func $t (loop (br 0))) (start $s)"],
    ["it calls itself", "(func $s call $s) (start $s)"],
    ["it calls what it imports", '(import "a" "b" (func $f)) (func $s call $f) (start $s)'],
    ["it is what is imported", '(import "a" "b" (func $f)) (start $f)'],
    ["it calls by a table", "(table 1 funcref) (func $s (call_indirect (i32.const 0))) (start $s)"],
    ["it calls too many functions", fanOut(40)],
    [
      "it fills a memory",
      "(memory 1) (func $s (memory.fill (i32.const 0) (i32.const 0) (i32.const 9))) (start $s)",
    ],
  ])("not if %s", async (_when, fields) => {
    expect(await starts(fields)).toBe(false);
  });
});
