import { parse, print } from "@bytecodealliance/jco-transpile/wasm-tools";
import { describe, expect, test } from "vitest";
// Inside: finds the guards in rewritten code; a call shows only that it ends in time.
import { readCoreModule } from "../../../../src/sandboxes/wasm/core-module/core-module.ts";
import { makeInterruptible } from "../../../../src/sandboxes/wasm/interruptible/interruptible.ts";

/**
 * The instructions of a module's first function once it is rewritten, where `guard` stands for those of a guard, and
 * `count` for those of one that counts.
 */
async function rewritten(fields: string): Promise<string> {
  const original = await parse(`(module (func $first ${fields})`);
  const { binary } = await makeInterruptible(original, readCoreModule(original));
  expect(WebAssembly.validate(binary as BufferSource)).toBe(true);
  const [, body = ""] = /\(func \$first[^\n]*\n(.*?)\n {2}\)/s.exec(await print(binary)) ?? [];
  return body
    .replaceAll(
      /local\.get (\d+)\s+i32\.const \d+\s+i32\.add\s+local\.tee \1\s+i32\.const \d+\s+i32\.gt_s\s+if[^\n]*\s+call[^\n]*sandgate:guard"?[^\n]*\s+i32\.const 0\s+local\.set \1\s+end/g,
      "count",
    )
    .replaceAll(/global\.get 0\s+if[^\n]*\s+call \$?"?#?[^\n]*sandgate:guard"?[^\n]*\s+end/g, "guard")
    .replaceAll(/;; label = @\d+/g, "")
    .replaceAll(/\s+/g, " ")
    .trim();
}

async function guards(fields: string): Promise<number> {
  return (await rewritten(fields)).split(/guard|count/).length - 1;
}

const LONG = "(drop (i32.const 1))".repeat(50);

describe("a function has a guard at its entry", () => {
  test.each([
    ["it has more than a little code", `${"nop ".repeat(16)})`],
    ["it has a loop", "(loop))"],
  ])("if %s", async (_when, fields) => {
    expect(await rewritten(fields)).toMatch(/^guard/);
  });

  test("unless it has next to no code and no loops", async () => {
    expect(await guards(`${"nop ".repeat(15)})`)).toBe(0);
  });
});

describe("a loop has a guard", () => {
  test.each([
    ["it has much code", `(loop ${LONG}))`, 2],
    ["there is a loop in it, which needs none itself", "(loop (loop)))", 2],
    ["it calls", "(loop (call 0)))", 2],
    ["it grows a memory", "(loop (drop (memory.grow (i32.const 0))))) (memory 1)", 2],
    ["it throws", "(loop (throw 0))) (tag)", 2],
    ["it catches", "(loop (block (try_table (catch_all 0)))))", 2],
    [
      "it does bulk operations, also short ones",
      "(loop (memory.fill (i32.const 0) (i32.const 0) (i32.const 8)))) (memory 1)",
      2,
    ],
    ["it often reads memory", `(loop ${"(drop (i32.load (i32.const 0)))".repeat(2)})) (memory 1)`, 2],
    ["what it calls is in a block", "(loop (block (if (i32.const 1) (then (call 0))))))", 2],
    ["any of several loops in it does so", "(loop (loop) (loop (call 0)) (loop)))", 3],
    ["there are many loops in the function", `${"(loop)".repeat(20)})`, 5],
  ])("if %s", async (_when, fields, count) => {
    expect(await guards(fields)).toBe(count);
  });

  test("unless it is small and only goes forward", async () => {
    expect(
      await rewritten(
        "(local i32) (loop (local.set 0 (i32.load (local.get 0))) (br_if 0 (local.get 0)))) (memory 1)",
      ),
    ).toMatch(/^\(local i32\) guard loop local.get 0 i32.load local.set 0/);
  });

  test("before its first instruction, where a bulk instruction can be", async () => {
    const loop = "i32.const 0 i32.const 0 local.get 0 loop (param i32 i32 i32) memory.fill end";
    expect(await rewritten(`(param i32) ${loop}) (memory 1)`)).toMatch(
      /^\(local i32\) guard .* loop \(type \d+\) \(param i32 i32 i32\) count call \S*sandgate:memory.fill:0/,
    );
  });
});

test("a function gets a variable for the count, behind its parameters and its own variables", async () => {
  expect(
    await rewritten(
      "(param i64 i32) (local f64 i64 i64) (return_call 0 (i64.const 1) (i32.const 2)) (loop (call 0 (i64.const 1) (i32.const 2))))",
    ),
  ).toMatch(/\(local f64 i64 i64 i32\) guard .* loop count/);
  const groups = Array.from({ length: 127 }, (_, n) => (n % 2 === 0 ? "i32" : "i64")).join(" ");
  expect(await guards(`(local ${groups}) (return_call 0) (loop (call 0)))`)).toBe(3);
});

test("guards leave it as it was what a function does", async () => {
  const wat = `(module
    (func $sum (export "sum") (param $n i32) (result i32) (local $i i32) (local $j i32) (local $s i32)
      (loop $outer (local.set $j (i32.const 0))
        (loop $inner (local.set $s (i32.add (local.get $s) (i32.mul (local.get $i) (local.get $j))))
          (br_if $inner (i32.lt_u (local.tee $j (i32.add (local.get $j) (i32.const 1))) (local.get $n))))
        (br_if $outer (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
      (local.get $s)))`;
  const original = await parse(wat);
  const { binary } = await makeInterruptible(original, readCoreModule(original));
  const [before, after] = [original, binary].map(
    (each) =>
      new WebAssembly.Instance(new WebAssembly.Module(each as BufferSource)).exports[
        "sum"
      ] as CallableFunction,
  );
  expect([1, 2, 50].map((n) => after?.(n))).toEqual([1, 2, 50].map((n) => before?.(n)));
});
