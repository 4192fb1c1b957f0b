import { parse, print } from "@bytecodealliance/jco-transpile/wasm-tools";
import { describe, expect, test } from "vitest";
import {
  CORE_SECTION,
  nameBytes,
  sectionBytes,
  sections,
} from "../../../../src/sandboxes/wasm/core-module/binary.ts";
// Inside: reads names, hints and sections of rewritten modules, which no call shows.
import { limitCoreModule } from "../../../../src/sandboxes/wasm/core-module/core-limits.ts";
import { readCoreModule } from "../../../../src/sandboxes/wasm/core-module/core-module.ts";
import {
  type InterruptibleModule,
  makeInterruptible,
} from "../../../../src/sandboxes/wasm/interruptible/interruptible.ts";

async function rewrite(wat: string): Promise<InterruptibleModule & { readonly original: Uint8Array }> {
  const original = await parse(wat);
  const rewritten = await makeInterruptible(original, readCoreModule(original));
  expect(WebAssembly.validate(rewritten.binary as BufferSource)).toBe(true);
  return { ...rewritten, original };
}

async function exportsOf(
  wat: string,
  imports: WebAssembly.Imports = {},
): Promise<Record<string, CallableFunction>> {
  const module = new WebAssembly.Module((await rewrite(wat)).binary as BufferSource);
  return new WebAssembly.Instance(module, imports).exports as Record<string, CallableFunction>;
}

/** The text of a rewritten module, in which calls of helpers stand by name. */
async function textOf(wat: string): Promise<string> {
  return print((await rewrite(wat)).binary);
}

const BULK = (length: string): string =>
  `(module (memory 1) (func (param i32) (memory.fill (i32.const 0) (i32.const 1) ${length})))`;

describe("a core module is left as it is", () => {
  test.each([
    ["it has no functions", "(module (memory 1))"],
    [
      "its functions only do a little",
      "(module (func (param i32) (result i32) (i32.add (local.get 0) (i32.const 7))))",
    ],
    ["a constant says that a bulk instruction is short", BULK("(i32.const 1024)")],
    [
      "a data segment is short",
      '(module (memory 1) (data $d "short") (func (param i32) (memory.init $d (i32.const 0) (i32.const 0) (local.get 0))))',
    ],
    [
      "it only drops segments, and asks for the size of a table",
      '(module (memory 1) (table 1 funcref) (data $d "x") (elem $e func) (func (data.drop $d) (elem.drop $e) (drop (table.size))))',
    ],
  ])("if %s", async (_when, wat) => {
    const { binary, original, growsTables } = await rewrite(wat);
    expect(binary).toBe(original);
    expect(growsTables).toBe(false);
  });
});

describe("a bulk instruction becomes a call", () => {
  test.each([
    ["its length is not a constant", BULK("(local.get 0)"), "memory.fill:0"],
    ["its length is a long constant", BULK("(i32.const 1025)"), "memory.fill:0"],
    ["its length is a negative constant", BULK("(i32.const -1)"), "memory.fill:0"],
    ["something is done to the constant", BULK("(i32.add (local.get 0) (i32.const 8))"), "memory.fill:0"],
    ["the constant is that of a block", BULK("(block (result i32) (i32.const 8))"), "memory.fill:0"],
    [
      "it copies between memories",
      "(module (memory 1) (memory 1) (func (param i32) (memory.copy 1 0 (i32.const 0) (i32.const 0) (local.get 0))))",
      "memory.copy:1:0",
    ],
    [
      "a data segment is long",
      `(module (memory 1) (data $s "x") (data $d "${"x".repeat(1_025)}")
        (func (param i32) (memory.init $d (i32.const 0) (i32.const 0) (local.get 0))))`,
      "memory.init:1:0",
    ],
    [
      "it works on a table, whatever its length",
      "(module (table 1 funcref) (func (table.fill 0 (i32.const 0) (ref.null func) (i32.const 1))))",
      "table.fill:0",
    ],
    [
      "it grows a table",
      "(module (table 1 externref) (func (drop (table.grow 0 (ref.null extern) (i32.const 1)))))",
      "table.grow:0",
    ],
  ])("if %s", async (_when, wat, name) => {
    expect(await textOf(wat)).toMatch(new RegExp(`call \\$?"?#?.*sandgate:${name}`));
  });

  test("of one function for each instruction and its indices, behind all others", async () => {
    const wat = `(module (import "a" "b" (func)) (memory 1) (memory 1)
      (func $own (param i32) ${`
        (memory.fill 0 (i32.const 0) (i32.const 1) (local.get 0))
        (memory.fill 1 (i32.const 0) (i32.const 1) (local.get 0))`.repeat(3)})
      (export "own" (func $own)))`;
    const { binary } = await rewrite(wat);
    // Its own, two for the instructions, and the guard.
    expect(readCoreModule(binary)).toMatchObject({
      importedFunctions: 1,
      functions: 4,
      types: { length: 5 },
    });
    expect(WebAssembly.Module.exports(new WebAssembly.Module(binary as BufferSource))).toEqual([
      { name: "own", kind: "function" },
    ]);
  });

  test("and it is told whether tables grow", async () => {
    const grow = "(module (table 1 externref) (func (drop (table.grow 0 (ref.null extern) (i32.const 1)))))";
    expect((await rewrite(grow)).growsTables).toBe(true);
    expect((await rewrite(BULK("(local.get 0)"))).growsTables).toBe(false);
  });
});

describe("a tail call", () => {
  const EVEN = `(type $t (func (param i32) (result i32))) (table 1 funcref) (elem (i32.const 0) $even) (elem declare func $odd)
    (func $even (export "even") (param i32) (result i32) (if (result i32) (i32.eqz (local.get 0))
      (then (i32.const 1)) (else (return_call $odd (i32.sub (local.get 0) (i32.const 1))))))
    (func $odd (param i32) (result i32) (if (result i32) (i32.eqz (local.get 0))
      (then (i32.const 0)) (else (return_call_indirect (type $t) (i32.sub (local.get 0) (i32.const 1)) (i32.const 0)))))
    (func (export "by-reference") (param i32) (result i32) (return_call_ref $t (local.get 0) (ref.func $odd)))`;

  test("stays one: a million of them do not fill the stack", async () => {
    const { even, "by-reference": byReference } = await exportsOf(`(module ${EVEN})`);
    expect([even?.(1_000_000), even?.(999_999), byReference?.(1_000_001)]).toEqual([1, 0, 1]);
  });

  test.each([
    ["where there are no globals", ""],
    ["behind the globals that are imported", '(import "a" "g" (global (mut i32)))'],
    [
      "behind the module's own globals",
      "(global (mut i64) (i64.const 7)) (global $g (mut i32) (i32.const 5))",
    ],
    ["with exports, elements and data behind the globals", '(memory 1) (data (i32.const 0) "x") (tag)'],
  ])("looks at a global that stays 0, %s", async (_where, fields) => {
    const g = new WebAssembly.Global({ value: "i32", mutable: true }, 3);
    const { even } = await exportsOf(`(module ${fields} ${EVEN})`, { a: { g } });
    expect(even?.(10)).toBe(1);
    expect(g.value).toBe(3);
  });
});

describe("what else is in a module", () => {
  const WAT = `(module $m (import "a" "b" (func $imported)) (memory 1) (func $named (param $p i32)
    (memory.fill (i32.const 0) (i32.const 1) (local.get $p))) (func) (start 2))`;

  test("keeps its names, and helpers have some", async () => {
    const text = await textOf(WAT);
    expect(text).toContain("(module $m");
    expect(text).toContain("(func $named");
    expect(text).toContain("(param $p i32)");
    expect(text).toContain("sandgate:memory.fill:0");
  });

  test.each([
    ["that are missing", (binary: Uint8Array) => withoutCustoms(binary)],
    [
      "that are broken",
      (binary: Uint8Array) => Buffer.concat([withoutCustoms(binary), custom("name", [1, 200, 1])]),
    ],
    [
      "that only name the module",
      (binary: Uint8Array) => Buffer.concat([withoutCustoms(binary), custom("name", [0, 2, 1, 0x6d])]),
    ],
  ])("does not need names %s", async (_what, change) => {
    const original = change(await parse(WAT));
    const { binary } = await makeInterruptible(original, readCoreModule(original));
    expect(WebAssembly.validate(binary as BufferSource)).toBe(true);
  });

  test("loses hints about positions in the code, and keeps other custom sections where they are", async () => {
    const plain = withoutCustoms(await parse(WAT));
    const hints = custom("metadata.code.branch_hint", [0]);
    const original = Buffer.concat([
      plain.subarray(0, 8),
      custom("first", [1, 2]),
      plain.subarray(8),
      hints,
      custom("last", []),
    ]);
    const { binary } = await makeInterruptible(original, readCoreModule(original));
    const module = new WebAssembly.Module(binary as BufferSource);
    const names = ["first", "metadata.code.branch_hint", "last", "name"];
    expect(names.map((name) => WebAssembly.Module.customSections(module, name).length)).toEqual([1, 0, 1, 1]);
    expect(Buffer.from(binary).indexOf("first")).toBeLessThan(20);
  });

  test("can be limited as before", async () => {
    const { binary } = await rewrite(WAT.replace("(start 2)", ""));
    const memories = [{ maxPages: 3, lowered: true }];
    const limited = await limitCoreModule(binary, { memories, tables: [], globals: [] });
    expect(WebAssembly.validate(limited as BufferSource)).toBe(true);
  });

  function custom(name: string, content: readonly number[]): Uint8Array {
    return sectionBytes(CORE_SECTION.custom, nameBytes(name), content);
  }

  function withoutCustoms(binary: Uint8Array): Uint8Array {
    const kept = [...sections(binary)]
      .filter(({ id }) => id !== CORE_SECTION.custom)
      .map(({ start, end }) => binary.subarray(start, end));
    return Buffer.concat([binary.subarray(0, 8), ...kept]);
  }
});

describe("a core module is refused", () => {
  test.each([
    [
      "for an instruction that is not supported",
      "(func (result i64 i64) (i64.add128 (i64.const 1) (i64.const 2) (i64.const 3) (i64.const 4)))",
      /byte \d+, the instruction 'i64.add128' \(0xfc 0x13\)/,
    ],
    [
      "for a function with too much code",
      `(func (drop (i32.const 1)) ${"(drop (i32.const 1))".repeat(180_000)})`,
      /the function 0 of a core module has 540\d+ bytes of code: at most 524288 are allowed/,
    ],
    [
      "for a function with too many divisions, which take hundreds of MiB to optimise",
      `(func (param i64) (result i64) (local.get 0) ${"(i64.const 3) i64.div_s ".repeat(40_000)})`,
      /the function 0 of a core module has so many divisions.* takes about 138 MiB: at most 80 are allowed/,
    ],
    [
      "for a function with too many saturating conversions",
      `(func (param i64) (result i64) (local.get 0) ${"f64.convert_i64_s i64.trunc_sat_f64_u ".repeat(10_000)})`,
      /the function 0 of a core module has so many divisions.* takes about \d+ MiB/,
    ],
    [
      "for a function with too many variables for its branches",
      `(import "a" "b" (func)) (func (local ${"i32 ".repeat(20_000)}) ${"(block)".repeat(2_000)})`,
      /the function 1 of a core module has 20000 local variables and \d+ branches/,
    ],
    [
      "for a function with too many variables for its branches by table",
      `(func (local ${"i32 ".repeat(20_000)}) (block ${`(br_table ${"0 ".repeat(1_000)} (i32.const 0))`.repeat(4)}))`,
      /the function 0 of a core module has 20000 local variables and \d+ branches/,
    ],
    [
      "for a function that guards make too long",
      `(func $f ${"(return_call $f)".repeat(150_000)})`,
      /the function 0 of a core module has \d+ bytes of code/,
    ],
    [
      "for too many kinds of bulk instructions",
      `${"(table 0 funcref)".repeat(65)} (func ${Array.from(
        { length: 65 * 65 },
        (_, i) => `(table.copy ${i % 65} ${Math.floor(i / 65)} (i32.const 0) (i32.const 0) (i32.const 0))`,
      ).join(" ")})`,
      /bulk instructions in more than 4096 ways/,
    ],
  ])("%s", async (_why, fields, reason) => {
    await expect(rewrite(`(module ${fields})`)).rejects.toThrow(reason);
  });
});
