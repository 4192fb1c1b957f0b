import { parse } from "@bytecodealliance/jco-transpile/wasm-tools";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
// Inside: compares rewritten modules with the original ones, which no sandbox runs.
import { readCoreModule } from "../../../../src/sandboxes/wasm/core-module/core-module.ts";
import { makeInterruptible } from "../../../../src/sandboxes/wasm/interruptible/interruptible.ts";

const PAGE = 65_536;
const PAGES = 8;
const OTHER_PAGES = 5;
const ELEMENTS = 5_000;
const OTHER_ELEMENTS = 3_000;
const SEGMENT_BYTES = 200_000;
const SEGMENT_ELEMENTS = 3_600;

/** Every bulk instruction, within and between two memories and two tables, with operands of the caller's choice. */
const MODULE = `(module
  (memory $a (export "a") ${PAGES} 9) (memory $b (export "b") ${OTHER_PAGES} 6)
  (table $t (export "t") ${ELEMENTS} 6000 funcref) (table $u (export "u") ${OTHER_ELEMENTS} 4000 funcref)
  (table $x (export "x") 10 4000 externref)
  (data $long "${Array.from({ length: SEGMENT_BYTES }, (_, i) => "abcdefghijklmnopqrs"[(i * 7) % 19]).join("")}")
  (data $short "short") (elem $e func ${"$f0 $f1 $f2 $f3 ".repeat(SEGMENT_ELEMENTS / 4)})
  ${[0, 1, 2, 3].map((i) => `(func $f${i} (export "f${i}"))`).join(" ")}
  ${[
    ["fill", "memory.fill $a"],
    ["copy", "memory.copy $a $a"],
    ["copy to b", "memory.copy $b $a"],
    ["copy to a", "memory.copy $a $b"],
    ["init", "memory.init $a $long"],
    ["init shortly", "memory.init $a $short"],
    ["table.init", "table.init $t $e"],
    ["table.copy", "table.copy $t $t"],
    ["table.copy to t", "table.copy $t $u"],
    ["table.copy to u", "table.copy $u $t"],
  ]
    .map(
      ([name, instruction]) =>
        `(func (export "${name}") (param i32 i32 i32) (${instruction} (local.get 0) (local.get 1) (local.get 2)))`,
    )
    .join("\n")}
  ${["fill", "copy"]
    .map(
      (name) => `(func (export "${name} 1024") (param i32 i32)
        (memory.${name} (local.get 0) (local.get 1) (i32.const 1024)))
      (func (export "${name} 70000") (param i32 i32)
        (memory.${name} (local.get 0) (local.get 1) (i32.const 70000)))`,
    )
    .join("\n")}
  (func (export "table.fill") (param i32 i32 i32)
    (table.fill $t (local.get 0) (table.get $t (local.get 1)) (local.get 2)))
  (func (export "table.grow") (param i32) (result i32) (table.grow $t (ref.func $f1) (local.get 0)))
  (func (export "extern.grow") (param externref i32) (result i32) (table.grow $x (local.get 0) (local.get 1)))
  (func (export "extern.fill") (param i32 externref i32)
    (table.fill $x (local.get 0) (local.get 1) (local.get 2)))
  (func (export "memory.grow") (param i32) (result i32) (memory.grow $a (local.get 0)))
  (func (export "drop") (data.drop $long)) (func (export "drop elements") (elem.drop $e)))`;

type Exports = Record<string, (...args: readonly unknown[]) => unknown> & {
  readonly a: WebAssembly.Memory;
  readonly b: WebAssembly.Memory;
  readonly t: WebAssembly.Table;
  readonly u: WebAssembly.Table;
  readonly x: WebAssembly.Table;
};

const original = await parse(MODULE);
const { binary: rewritten } = await makeInterruptible(original, readCoreModule(original));
const [plain, split] = [original, rewritten].map(
  (binary) => new WebAssembly.Module(binary as BufferSource),
) as [WebAssembly.Module, WebAssembly.Module];

function instantiate(module: WebAssembly.Module): Exports {
  return new WebAssembly.Instance(module).exports as unknown as Exports;
}

/** Fills memories and tables with what tells every place from the others around it. */
function scramble({ a, b, t, u, ...exports }: Exports, seed: number): void {
  for (const memory of [a, b]) {
    const words = new Uint32Array(memory.buffer);
    for (let i = 0, word = seed; i < words.length; i += 7) {
      word = (Math.imul(word, 1_103_515_245) + 12_345) >>> 0;
      words[i] = word;
    }
  }
  for (const table of [t, u]) {
    for (let i = 0; i < table.length; i += 3) table.set(i, exports[`f${(i + seed) % 4}`] as unknown as null);
  }
}

/** What a call returned, or the name and the text of what it threw. */
function outcome(exports: Exports, [name, ...args]: readonly [string, ...unknown[]]): string {
  try {
    return String(exports[name]?.(...args));
  } catch (error) {
    return String(error);
  }
}

/** Where functions stand in a table, by the names under which they are exported. */
function functionsOf(table: WebAssembly.Table, exports: Exports): readonly (string | null)[] {
  const names = new Map<unknown, string>([0, 1, 2, 3].map((i) => [exports[`f${i}`], `f${i}`]));
  return Array.from({ length: table.length }, (_, i) => names.get(table.get(i)) ?? null);
}

function expectSame(left: Exports, right: Exports): void {
  for (const name of ["a", "b"] as const) {
    expect(Buffer.compare(new Uint8Array(left[name].buffer), new Uint8Array(right[name].buffer))).toBe(0);
  }
  for (const name of ["t", "u"] as const) {
    expect(functionsOf(right[name], right)).toEqual(functionsOf(left[name], left));
  }
  expect(Array.from({ length: right.x.length }, (_, i) => right.x.get(i))).toEqual(
    Array.from({ length: left.x.length }, (_, i) => left.x.get(i)),
  );
}

const HUGE = [0xffff_ffff, 0xffff_fff0, 0x8000_0000];

/** A place in something of that size: mostly inside, often at its end. */
const place = (size: number): fc.Arbitrary<number> =>
  fc.oneof({ weight: 6, arbitrary: fc.nat(size) }, fc.nat(100), fc.constantFrom(0, size - 1, size, ...HUGE));

const length = (size: number): fc.Arbitrary<number> =>
  fc.oneof(
    { weight: 4, arbitrary: fc.nat(size) },
    fc.nat(2_000),
    fc.constantFrom(0, 1_024, 1_025, PAGE, PAGE + 1, size, ...HUGE),
  );

const operands = (target: number, source: number): fc.Arbitrary<[number, number, number]> =>
  fc.tuple(place(target), place(source), length(Math.min(target, source)));

/** Two ranges that overlap. */
const overlapping = (size: number, apart: number): fc.Arbitrary<[number, number, number]> =>
  fc
    .tuple(fc.nat(size), fc.integer({ min: -apart, max: apart }), length(size))
    .map(([at, by, count]) => [at, Math.max(0, at + by), count]);

const BYTES = PAGES * PAGE;
const OTHER_BYTES = OTHER_PAGES * PAGE;

const named = <Args extends readonly unknown[]>(
  name: string,
  args: fc.Arbitrary<Args>,
): fc.Arbitrary<[string, ...unknown[]]> => args.map((values) => [name, ...values]);

const operation = fc.oneof(
  named("fill", operands(BYTES, BYTES)),
  named("copy", operands(BYTES, BYTES)),
  named("copy", overlapping(BYTES, 20_000)),
  named("copy to a", operands(BYTES, OTHER_BYTES)),
  named("copy to b", operands(OTHER_BYTES, BYTES)),
  named("init", operands(BYTES, SEGMENT_BYTES)),
  named("init shortly", operands(BYTES, 7)),
  named("fill 1024", fc.tuple(place(BYTES), fc.nat(255))),
  named("fill 70000", fc.tuple(place(BYTES), fc.nat(255))),
  named("copy 1024", fc.tuple(place(BYTES), place(BYTES))),
  named("copy 70000", fc.tuple(place(BYTES), place(BYTES))),
  named("table.init", operands(ELEMENTS, SEGMENT_ELEMENTS)),
  named("table.copy", operands(ELEMENTS, ELEMENTS)),
  named("table.copy", overlapping(ELEMENTS, 600)),
  named("table.copy to t", operands(ELEMENTS, OTHER_ELEMENTS)),
  named("table.copy to u", operands(OTHER_ELEMENTS, ELEMENTS)),
  named("table.fill", operands(ELEMENTS, ELEMENTS)),
  named("extern.fill", fc.tuple(place(10), fc.string(), length(10))),
  named("table.grow", fc.tuple(fc.constantFrom(0, 1, 10, 2_000, 0xffff_ffff))),
  named("extern.grow", fc.tuple(fc.string(), fc.constantFrom(0, 1, 1_500, 5_000))),
  named("memory.grow", fc.tuple(fc.constantFrom(0, 1, 2))),
  { weight: 1, arbitrary: fc.constant<[string]>(["drop"]) },
  { weight: 1, arbitrary: fc.constant<[string]>(["drop elements"]) },
);

describe("a module whose bulk instructions are split", () => {
  test("does in every case what it does as it is, and traps with the same text", () => {
    let traps = 0;
    fc.assert(
      fc.property(fc.array(operation, { minLength: 5, maxLength: 20 }), fc.nat(1_000), (operations, seed) => {
        const [left, right] = [instantiate(plain), instantiate(split)];
        for (const each of [left, right]) scramble(each, seed);
        for (const each of operations) {
          const expected = outcome(left, each);
          if (expected.includes("Error")) traps++;
          expect([each, outcome(right, each)]).toEqual([each, expected]);
        }
        expectSame(left, right);
      }),
      { numRuns: 300 },
    );
    expect(traps).toBeGreaterThan(100);
  }, 120_000);
});
