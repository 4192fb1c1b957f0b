import {
  BinaryReader,
  CORE_SECTION,
  EXPORTED,
  exportBytes,
  type Section,
  sectionBytes,
  u32Bytes,
} from "./binary.ts";
import { readCoreModule } from "./core-module.ts";
import { OWN_NAMES } from "./core-name.ts";
import { type Limits, readLimits, readTable } from "./definitions.ts";
import { canGrow, type ModuleCaps } from "./memory-budget.ts";
import { changeSections } from "./section-changes.ts";

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
