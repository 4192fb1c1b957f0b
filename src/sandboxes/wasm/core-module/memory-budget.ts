import { ToolPreparationError } from "../../contract/sandbox.ts";
import type { CoreModule } from "./core-module.ts";

/** Bytes of a page of linear memory. */
export const PAGE_BYTES = 65_536;

/** The most pages that a 32-bit memory can have. */
const MAX_PAGES = 65_536;

/** The most elements of each table: a table lives outside the linear memories. */
export const MAX_TABLE_ELEMENTS = 262_144;

const MAX_MEMORY_INSTANCES = 32;
const MAX_TABLE_INSTANCES = 64;

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
    for (const { min } of module.memories) pages += min * instances;
    memoryCount += module.memories.length * instances;
    tableCount += module.tables.length * instances;
    if (module.tables.some(({ min }) => min > MAX_TABLE_ELEMENTS)) {
      throw new ToolPreparationError(`it has a table of more than ${MAX_TABLE_ELEMENTS} elements`);
    }
  }
  if (memoryCount > MAX_MEMORY_INSTANCES || tableCount > MAX_TABLE_INSTANCES) {
    throw new ToolPreparationError(
      `it has too many memories or tables: at most ${MAX_MEMORY_INSTANCES} and ${MAX_TABLE_INSTANCES}`,
    );
  }
  return pages * PAGE_BYTES;
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
  capPages: number,
): readonly (readonly MemoryCap[])[] {
  const sparePages = capPages - initialMemoryBytes(modules) / PAGE_BYTES;
  let growing = 0;
  for (const { module, instances } of modules) {
    for (const { min, max = MAX_PAGES } of module.memories) if (max > min) growing += instances;
  }
  const share = growing === 0 ? 0 : Math.floor(sparePages / growing);
  return modules.map(({ module }) =>
    module.memories.map(({ min, max = MAX_PAGES }) => {
      const maxPages = Math.min(max, min + share);
      return { maxPages, lowered: maxPages < max };
    }),
  );
}
