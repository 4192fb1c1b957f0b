import { ToolPreparationError } from "../../contract/sandbox.ts";
import type { CoreModule } from "./core-module.ts";
import type { Limits } from "./definitions.ts";

/** Bytes of a page of linear memory. */
export const PAGE_BYTES = 65_536;

/** What an element of a table counts as, in bytes. */
export const TABLE_ELEMENT_BYTES = 8;

/** The most pages of a memory: one less than there can be, so that no end of one is beyond 32 bits. */
const MAX_PAGES = 65_535;

/** The most elements of each table. V8 makes and grows a table in one piece, which nothing interrupts. */
const MAX_TABLE_ELEMENTS = 262_144;

/** The most elements of all tables together: V8 takes up to three times the bytes that one counts as. */
const MAX_ALL_TABLE_ELEMENTS = 1_048_576;

const MAX_MEMORY_INSTANCES = 32;
const MAX_TABLE_INSTANCES = 64;

/** The part of the spare memory that is kept for tables which can grow. */
const TABLE_SHARE = 1 / 8;

/** A core module, and how often the component instantiates it: each time, its memories are there once more. */
export interface InstantiatedModule {
  readonly module: Pick<CoreModule, "memories" | "tables">;
  readonly instances: number;
}

/** How far one memory may grow. */
export interface MemoryCap {
  readonly maxPages: number;
  /** Whether the grant lowered what the module itself allows. */
  readonly lowered: boolean;
}

/** How far one table may grow. */
export interface TableCap {
  /** Elements that it has from the start. */
  readonly minElements: number;
  readonly maxElements: number;
}

/** Whether a table may grow at all. */
export function canGrow({ minElements, maxElements }: TableCap): boolean {
  return maxElements > minElements;
}

/** How far the memories and tables that one core module defines may grow. */
export interface ModuleCaps {
  readonly memories: readonly MemoryCap[];
  readonly tables: readonly TableCap[];
}

/**
 * Bytes that a component's memories and tables take from the start, all instances together.
 *
 * @throws {ToolPreparationError} if it has too many memories or tables, or too large ones.
 */
export function initialMemoryBytes(modules: readonly InstantiatedModule[]): number {
  let pages = 0;
  let memoryCount = 0;
  let tableCount = 0;
  for (const { module, instances } of modules) {
    for (const { min } of module.memories) {
      if (min > MAX_PAGES) throw new ToolPreparationError(`it has a memory of more than ${MAX_PAGES} pages`);
      pages += min * instances;
    }
    memoryCount += module.memories.length * instances;
    tableCount += module.tables.length * instances;
    if (module.tables.some(({ limits }) => limits.min > MAX_TABLE_ELEMENTS)) {
      throw new ToolPreparationError(`it has a table of more than ${MAX_TABLE_ELEMENTS} elements`);
    }
  }
  if (memoryCount > MAX_MEMORY_INSTANCES || tableCount > MAX_TABLE_INSTANCES) {
    throw new ToolPreparationError(
      `it has too many memories or tables: at most ${MAX_MEMORY_INSTANCES} and ${MAX_TABLE_INSTANCES}`,
    );
  }
  const elements = countElements(modules, ({ min }) => min);
  if (elements > MAX_ALL_TABLE_ELEMENTS) {
    throw new ToolPreparationError(`its tables have more than ${MAX_ALL_TABLE_ELEMENTS} elements together`);
  }
  return pages * PAGE_BYTES + elements * TABLE_ELEMENT_BYTES;
}

/**
 * Divides a cap among a component's memories and tables, so that their sum can never pass it. What is left above
 * the initial sizes goes in equal shares to the memories that can grow. Nearly always there is one, which gets all.
 *
 * @param capBytes At least what {@link initialMemoryBytes} returns.
 * @param growsTables Whether any code of the component grows a table. If so, a part is kept for tables.
 */
export function divideMemory(
  modules: readonly InstantiatedModule[],
  capBytes: number,
  growsTables: boolean,
): readonly ModuleCaps[] {
  const spareBytes = capBytes - initialMemoryBytes(modules);
  const elements = growsTables ? elementsForEach(modules, spareBytes) : 0;
  const maxElements = ({ min, max = MAX_TABLE_ELEMENTS }: Limits): number =>
    Math.max(min, Math.min(max, min + elements, MAX_TABLE_ELEMENTS));
  const tableBytes =
    countElements(modules, (limits) => maxElements(limits) - limits.min) * TABLE_ELEMENT_BYTES;
  let growing = 0;
  for (const { module, instances } of modules) {
    for (const { min, max = MAX_PAGES } of module.memories) if (max > min) growing += instances;
  }
  const share = growing === 0 ? 0 : Math.floor((spareBytes - tableBytes) / PAGE_BYTES / growing);
  return modules.map(({ module }) => ({
    memories: module.memories.map(({ min, max = MAX_PAGES }) => {
      const maxPages = Math.min(max, min + share, MAX_PAGES);
      return { maxPages, lowered: maxPages < max };
    }),
    tables: module.tables.map(({ limits }) => ({
      minElements: limits.min,
      maxElements: maxElements(limits),
    })),
  }));
}

/** How many elements each table that can grow may have more than from the start. */
function elementsForEach(modules: readonly InstantiatedModule[], spareBytes: number): number {
  const growing = modules.reduce((sum, { module, instances }) => sum + module.tables.length * instances, 0);
  const spareElements = MAX_ALL_TABLE_ELEMENTS - countElements(modules, ({ min }) => min);
  return Math.floor(Math.min((spareBytes * TABLE_SHARE) / TABLE_ELEMENT_BYTES, spareElements) / growing);
}

/** Adds up a number of elements over all tables of all instances. */
function countElements(modules: readonly InstantiatedModule[], each: (limits: Limits) => number): number {
  let elements = 0;
  for (const { module, instances } of modules) {
    for (const { limits } of module.tables) elements += each(limits) * instances;
  }
  return elements;
}
