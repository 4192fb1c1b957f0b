import fc from "fast-check";
import { describe, expect, test } from "vitest";
// Inside: divides caps of many sizes by arithmetic, without components that have such memories.
import {
  divideMemory,
  type InstantiatedModule,
  initialMemoryBytes,
  PAGE_BYTES,
  TABLE_ELEMENT_BYTES,
} from "../../../../src/sandboxes/wasm/core-module/core-limits.ts";
import type { Limits } from "../../../../src/sandboxes/wasm/core-module/definitions.ts";

const FUNCREF = [0x70];

function moduleWith(memories: readonly Limits[], tables: readonly Limits[] = []): InstantiatedModule {
  return {
    module: { memories, tables: tables.map((limits) => ({ type: FUNCREF, limits })), objectBytes: 0 },
    instances: 1,
  };
}

const fixed = (size: number): Limits => ({ min: size, max: size });
const growing = (min: number): Limits => ({ min, max: undefined });

describe("dividing a cap among a component's memories and tables", () => {
  test("gives a single memory all of it", () => {
    expect(divideMemory([moduleWith([growing(1)])], 10 * PAGE_BYTES, false)).toEqual([
      { memories: [{ maxPages: 10, lowered: true }], tables: [] },
    ]);
  });

  test("gives nothing to a memory that cannot grow", () => {
    const modules = [moduleWith([fixed(2)]), moduleWith([growing(1)])];
    expect(divideMemory(modules, 10 * PAGE_BYTES, false)).toEqual([
      { memories: [{ maxPages: 2, lowered: false }], tables: [] },
      { memories: [{ maxPages: 8, lowered: true }], tables: [] },
    ]);
  });

  test("takes the elements of tables off the memories", () => {
    const elements = PAGE_BYTES / TABLE_ELEMENT_BYTES;
    const modules = [moduleWith([growing(1)], [fixed(elements), fixed(2 * elements)])];
    expect(initialMemoryBytes(modules)).toBe(4 * PAGE_BYTES);
    expect(divideMemory(modules, 10 * PAGE_BYTES, false)).toMatchObject([{ memories: [{ maxPages: 7 }] }]);
  });

  test("lets tables grow only where code grows tables, by an eighth of what is spare", () => {
    const modules = [moduleWith([growing(0)], [growing(100), growing(0), fixed(7)])];
    const cap = initialMemoryBytes(modules) + 24 * PAGE_BYTES;
    expect(divideMemory(modules, cap, false)).toMatchObject([
      {
        memories: [{ maxPages: 24 }],
        tables: [
          { minElements: 100, maxElements: 100 },
          { minElements: 0, maxElements: 0 },
          { minElements: 7, maxElements: 7 },
        ],
      },
    ]);
    const each = PAGE_BYTES / TABLE_ELEMENT_BYTES;
    expect(divideMemory(modules, cap, true)).toMatchObject([
      {
        memories: [{ maxPages: 22 }],
        tables: [
          { minElements: 100, maxElements: 100 + each },
          { minElements: 0, maxElements: each },
          { minElements: 7, maxElements: 7 },
        ],
      },
    ]);
  });

  test("never passes the cap in sum, and never goes below an initial size", () => {
    const limits = fc
      .record({ min: fc.nat(50), more: fc.option(fc.nat(50), { nil: undefined }) })
      .map(({ min, more }): Limits => ({ min, max: more === undefined ? undefined : min + more }));
    const module = fc
      .tuple(
        fc.array(limits, { maxLength: 2 }),
        fc.array(limits, { maxLength: 3 }),
        fc.integer({ min: 1, max: 3 }),
      )
      .map(([memories, tables, instances]) => ({ ...moduleWith(memories, tables), instances }));
    fc.assert(
      fc.property(
        fc.array(module, { maxLength: 4 }),
        fc.nat(1_000),
        fc.boolean(),
        (modules, spare, grows) => {
          const cap = initialMemoryBytes(modules) + spare * PAGE_BYTES;
          const caps = divideMemory(modules, cap, grows);
          let sum = 0;
          for (const [index, { module, instances }] of modules.entries()) {
            for (const [memory, { min }] of module.memories.entries()) {
              const { maxPages } = caps[index]?.memories[memory] ?? { maxPages: -1 };
              expect(maxPages).toBeGreaterThanOrEqual(min);
              sum += maxPages * PAGE_BYTES * instances;
            }
            for (const [table, { limits: of }] of module.tables.entries()) {
              const { maxElements } = caps[index]?.tables[table] ?? { maxElements: -1 };
              expect(maxElements).toBeGreaterThanOrEqual(of.min);
              expect(maxElements).toBeLessThanOrEqual(of.max ?? Number.POSITIVE_INFINITY);
              sum += maxElements * TABLE_ELEMENT_BYTES * instances;
            }
          }
          expect(sum).toBeLessThanOrEqual(cap);
        },
      ),
    );
  });

  test.each([
    ["more memories than can be measured", { ...moduleWith([fixed(0)]), instances: 33 }, /too many memories/],
    [
      "more tables than can be counted",
      { ...moduleWith([], [fixed(1)]), instances: 65 },
      /too many memories or tables/,
    ],
    ["a memory of 4 GiB", moduleWith([fixed(65_536)]), /a memory of more than 65535 pages/],
    ["a table that is too large", moduleWith([], [growing(300_000)]), /a table of more than 262144 elements/],
    [
      "tables that are too large together",
      { ...moduleWith([], [fixed(262_144)]), instances: 5 },
      /more than 1048576 elements together/,
    ],
  ])("refuses %s", (_what, module, reason) => {
    expect(() => initialMemoryBytes([module])).toThrow(reason);
  });

  test("keeps a memory below 4 GiB, whatever the cap", () => {
    expect(divideMemory([moduleWith([growing(1)])], 2 ** 33, false)).toMatchObject([
      { memories: [{ maxPages: 65_535 }] },
    ]);
  });
});
