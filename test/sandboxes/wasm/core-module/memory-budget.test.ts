import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  divideMemory,
  type InstantiatedModule,
  initialMemoryBytes,
  PAGE_BYTES,
} from "../../../../src/sandboxes/wasm/core-module/memory-budget.ts";

function withMemories(...memories: { min: number; max: number | undefined }[]): InstantiatedModule {
  return { module: { memories, tables: [] }, instances: 1 };
}

describe("dividing a cap among a component's memories", () => {
  test("gives a single memory all of it", () => {
    expect(divideMemory([withMemories({ min: 1, max: undefined })], 10)).toEqual([
      [{ maxPages: 10, lowered: true }],
    ]);
  });

  test("gives nothing to a memory that cannot grow", () => {
    const modules = [withMemories({ min: 2, max: 2 }), withMemories({ min: 1, max: undefined })];
    expect(divideMemory(modules, 10)).toEqual([
      [{ maxPages: 2, lowered: false }],
      [{ maxPages: 8, lowered: true }],
    ]);
  });

  test("never passes the cap in sum, and never goes below a memory's initial size", () => {
    const memory = fc
      .record({ min: fc.nat(50), more: fc.option(fc.nat(50), { nil: undefined }) })
      .map(({ min, more }) => ({ min, max: more === undefined ? undefined : min + more }));
    const module = fc.record({
      module: fc.record({
        importedMemories: fc.constant(0),
        memories: fc.array(memory, { maxLength: 2 }),
        tables: fc.constant([]),
      }),
      instances: fc.integer({ min: 1, max: 3 }),
    });
    fc.assert(
      fc.property(fc.array(module, { maxLength: 4 }), fc.nat(1_000), (modules, spare) => {
        const cap = initialMemoryBytes(modules) / PAGE_BYTES + spare;
        const caps = divideMemory(modules, cap);
        let sum = 0;
        for (const [index, { module, instances }] of modules.entries()) {
          for (const [memoryIndex, { min }] of module.memories.entries()) {
            const { maxPages } = caps[index]?.[memoryIndex] ?? { maxPages: -1 };
            expect(maxPages).toBeGreaterThanOrEqual(min);
            sum += maxPages * instances;
          }
        }
        expect(sum).toBeLessThanOrEqual(cap);
      }),
    );
  });

  test("refuses more memories than can be measured, and tables that are too large", () => {
    const many = { ...withMemories({ min: 0, max: 0 }), instances: 33 };
    expect(() => initialMemoryBytes([many])).toThrow(/too many memories/);
    const tables = [{ min: 300_000, max: undefined }];
    const large = { module: { importedMemories: 0, memories: [], tables }, instances: 1 };
    expect(() => initialMemoryBytes([large])).toThrow(/a table of more than/);
  });
});
