import { ToolPreparationError } from "../../contract/sandbox.ts";
import {
  BinaryReader,
  CORE_SECTION,
  changeSections,
  EXPORTED,
  exportBytes,
  type Section,
  sectionBytes,
  u32Bytes,
} from "./binary.ts";
import { type CoreModule, readCoreModule } from "./core-module.ts";
import { OWN_NAMES } from "./core-name.ts";
import { type Limits, readLimits, readTable } from "./definitions.ts";

/** The size of a page of linear memory, in bytes. */
export const PAGE_BYTES = 65_536;

/** What V8 takes for an element of a table of functions that grows, in bytes. Others take less. */
export const TABLE_ELEMENT_BYTES = 32;

/** What V8's objects for an instance may take that does not count, in bytes: more than most components need. */
const FREE_OBJECT_BYTES = 1_024 * 1_024;

/** The maximum pages of a memory: one less than possible, so that its end fits in 32 bits. */
const MAX_PAGES = 65_535;

/** The maximum elements of a table. V8 creates and grows a table in one step, which cannot be interrupted. */
const MAX_TABLE_ELEMENTS = 262_144;

/** The maximum elements of all tables. */
const MAX_ALL_TABLE_ELEMENTS = 1_048_576;

const MAX_MEMORY_INSTANCES = 32;

const MAX_TABLE_INSTANCES = 64;

/** The part of the spare memory that is reserved for tables that can grow. */
const TABLE_SHARE = 1 / 8;

/** A core module, and how many times the component instantiates it, each time with its own memories. */
export interface InstantiatedModule {
  readonly module: Pick<CoreModule, "memories" | "tables" | "objectBytes">;
  readonly instances: number;
}

/** The cap of one memory. */
interface MemoryCap {
  readonly maxPages: number;
  /** Whether the cap is lower than the module's own maximum. */
  readonly lowered: boolean;
}

/** The cap of one table. */
interface TableCap {
  /** Its initial number of elements. */
  readonly minElements: number;
  readonly maxElements: number;
}

/** The caps of the memories and tables that one core module defines. */
export interface ModuleCaps {
  readonly memories: readonly MemoryCap[];
  readonly tables: readonly TableCap[];
}

/** Returns the name under which {@link limitCoreModule} exports a memory, counted from 0. */
export function memoryExportName(index: number): string {
  return `${OWN_NAMES.memory}${index}`;
}

/** Returns the name under which {@link limitCoreModule} exports the global with an index. */
export function globalExportName(index: number): string {
  return `${OWN_NAMES.global}${index}`;
}

/** Returns the name under which {@link limitCoreModule} exports a table that can grow, counted from 0. */
export function tableExportName(index: number): string {
  return `${OWN_NAMES.table}${index}`;
}

/** The limits to set, and what to export. */
export interface CoreLimits extends ModuleCaps {
  /** The indices of the globals to export, so that they can be set. */
  readonly globals: readonly number[];
  /** The global to export for the function that decides on exceptions. */
  readonly exceptionGlobal?: number | undefined;
}

/**
 * Rewrites a core module so that its memories and tables cannot grow past the given maxima, and exports its
 * memories, and tables that can grow, so that they can be measured.
 */
export function limitCoreModule(
  binary: Uint8Array,
  { memories, tables, globals, exceptionGlobal }: CoreLimits,
): Promise<Uint8Array> {
  const { importedMemories, importedTables } = readCoreModule(binary);
  const exports = [
    ...memories.map((_, index) =>
      exportBytes(memoryExportName(index), EXPORTED.memory, importedMemories + index),
    ),
    ...tables.flatMap((cap, index) =>
      canGrow(cap)
        ? [exportBytes(tableExportName(index), EXPORTED.table, importedTables.length + index)]
        : [],
    ),
    ...globals.map((index) => exportBytes(globalExportName(index), EXPORTED.global, index)),
    ...(exceptionGlobal === undefined
      ? []
      : [exportBytes(OWN_NAMES.exceptions, EXPORTED.global, exceptionGlobal)]),
  ];
  const limit = ({ id, body }: Section): readonly Uint8Array[] | undefined => {
    const reader = new BinaryReader(body);
    if (id === CORE_SECTION.memory) {
      return rewritten(id, reader, (index) =>
        limitsBytes(readLimits(reader), memories[index]?.maxPages ?? 0),
      );
    }
    if (id !== CORE_SECTION.table) return undefined;
    return rewritten(id, reader, (index) => {
      const { type, limits } = readTable(reader);
      return [...type, ...limitsBytes(limits, tables[index]?.maxElements ?? 0)];
    });
  };
  return changeSections(
    binary,
    limit,
    new Map([[CORE_SECTION.export, { count: exports.length, bytes: exports.flat() }]]),
  );
}

/** Encodes a section again, item by item. */
function rewritten(
  id: number,
  reader: BinaryReader,
  item: (index: number) => readonly number[],
): readonly Uint8Array[] {
  const content: number[] = [];
  const count = reader.vector((index) => {
    for (const byte of item(index)) content.push(byte);
  });
  return [sectionBytes(id, u32Bytes(count), content)];
}

function limitsBytes({ min, max = Number.POSITIVE_INFINITY }: Limits, most: number): readonly number[] {
  return [1, ...u32Bytes(min), ...u32Bytes(Math.min(max, most))];
}

/** Whether a table may grow. */
export function canGrow({ minElements, maxElements }: TableCap): boolean {
  return maxElements > minElements;
}

/**
 * Returns the bytes that V8 allocates for all core instances without their memories and tables, as far as
 * they count.
 */
export function objectBytes(modules: readonly InstantiatedModule[]): number {
  const bytes = modules.reduce((sum, { module, instances }) => sum + module.objectBytes * instances, 0);
  return Math.max(0, bytes - FREE_OBJECT_BYTES);
}

/**
 * Returns the initial size of the memories and tables of all core instances, and of V8's objects for them, in bytes.
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
  return pages * PAGE_BYTES + elements * TABLE_ELEMENT_BYTES + objectBytes(modules);
}

/**
 * Divides a cap among a component's memories and tables, so that their sum cannot exceed it. What remains above the
 * initial sizes is divided equally among the memories that can grow. Nearly always there is only one.
 *
 * @param capBytes At least what {@link initialMemoryBytes} returns.
 * @param growsTables Whether any code of the component grows a table. If so, a part is reserved for tables.
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

/** Returns by how many elements each table that can grow may grow. */
function elementsForEach(modules: readonly InstantiatedModule[], spareBytes: number): number {
  const growing = modules.reduce((sum, { module, instances }) => sum + module.tables.length * instances, 0);
  const spareElements = MAX_ALL_TABLE_ELEMENTS - countElements(modules, ({ min }) => min);
  return Math.floor(Math.min((spareBytes * TABLE_SHARE) / TABLE_ELEMENT_BYTES, spareElements) / growing);
}

/** Returns the sum of a number of elements over all tables of all instances. */
function countElements(modules: readonly InstantiatedModule[], each: (limits: Limits) => number): number {
  let elements = 0;
  for (const { module, instances } of modules) {
    for (const { limits } of module.tables) elements += each(limits) * instances;
  }
  return elements;
}
