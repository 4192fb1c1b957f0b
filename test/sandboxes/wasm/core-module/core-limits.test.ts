import { parse } from "@bytecodealliance/jco-transpile/wasm-tools";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
// Inside: a property of minima, maxima and caps, which V8 checks on a core module alone.
import {
  limitCoreModule,
  memoryExportName,
  tableExportName,
} from "../../../../src/sandboxes/wasm/core-module/core-limits.ts";
import { readCoreModule } from "../../../../src/sandboxes/wasm/core-module/core-module.ts";

async function instantiate(
  wat: string,
  memoryPages: number[],
  tableElements = 10,
): Promise<WebAssembly.Exports> {
  const original = await parse(wat);
  const memories = memoryPages.map((maxPages) => ({ maxPages, lowered: true }));
  const tables = readCoreModule(original).tables.map(({ limits }) => ({
    minElements: limits.min,
    maxElements: tableElements,
  }));
  const binary = await limitCoreModule(original, { memories, tables, globals: [] });
  return new WebAssembly.Instance(new WebAssembly.Module(binary as BufferSource)).exports;
}

const GROW = '(func (export "grow") (param i32) (result i32) local.get 0 memory.grow)';

describe("limiting a core module", () => {
  test("refuses growth past the cap, and no earlier", async () => {
    const { grow } = await instantiate(`(module (memory 1) ${GROW})`, [3]);
    const growBy = grow as (pages: number) => number;
    expect(growBy(3)).toBe(-1);
    expect(growBy(2)).toBe(1);
    expect(growBy(1)).toBe(-1);
  });

  test("leaves a lower maximum of the module's own", async () => {
    const { grow } = await instantiate(`(module (memory 1 2) ${GROW})`, [9]);
    expect((grow as (pages: number) => number)(2)).toBe(-1);
    expect((grow as (pages: number) => number)(1)).toBe(1);
  });

  test.each([
    ["with exports", '(module (memory 1) (func $f) (export "f" (func $f)))'],
    ["without exports", "(module (memory 1) (func))"],
    ["without functions", "(module (memory 1))"],
    ["with data", '(module (memory 1) (func) (data (i32.const 0) "x"))'],
    ["with a start function", "(module (memory 1) (func $f) (start $f))"],
  ])("exports the memories of a module %s", async (_what, wat) => {
    const exports = await instantiate(wat, [2]);
    expect(exports[memoryExportName(0)]).toBeInstanceOf(WebAssembly.Memory);
  });

  test("caps and exports each of several memories by itself", async () => {
    const exports = await instantiate("(module (memory 1) (memory 2))", [4, 8]);
    const [first, second] = [0, 1].map((index) => exports[memoryExportName(index)] as WebAssembly.Memory);
    expect([first?.buffer.byteLength, second?.buffer.byteLength]).toEqual([65_536, 131_072]);
    expect(() => first?.grow(4)).toThrow(RangeError);
    expect(second?.grow(4)).toBe(2);
  });

  test("caps tables of every element type", async () => {
    const grow = '(func (export "grow") (result i32) ref.null extern i32.const 8 table.grow $t)';
    const exports = await instantiate(`(module (table $f 1 funcref) (table $t 5 externref) ${grow})`, [], 10);
    expect((exports["grow"] as () => number)()).toBe(-1);
  });

  test("exports tables that can grow, so that they can be measured", async () => {
    const exports = await instantiate("(module (table 10 funcref) (table 4 funcref))", [], 10);
    expect(exports).not.toHaveProperty(tableExportName(0));
    expect(exports[tableExportName(1)]).toMatchObject({ length: 4 });
  });

  test("holds whatever minimum, maximum and cap are given", async () => {
    const limits = fc.record({
      min: fc.nat(200),
      more: fc.option(fc.nat(300), { nil: undefined }),
      spare: fc.nat(300),
    });
    await fc.assert(
      fc.asyncProperty(limits, async ({ min, more, spare }) => {
        const max = more === undefined ? "" : min + more;
        const { grow } = await instantiate(`(module (memory ${min} ${max}) ${GROW})`, [min + spare]);
        const growBy = grow as (pages: number) => number;
        const allowed = Math.min(more ?? Number.POSITIVE_INFINITY, spare);
        expect(growBy(allowed + 1)).toBe(-1);
        expect(growBy(allowed)).toBe(min);
      }),
      { numRuns: 50 },
    );
  });
});
