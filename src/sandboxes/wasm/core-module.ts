import { ToolPreparationError } from "../sandbox.ts";
import { BinaryReader, isCoreModule, sections } from "./binary-reader.ts";
import { checkCoreName } from "./core-name.ts";

/** How large a memory (in pages of 64 KiB) or a table (in elements) is at first, and may become. */
export interface Limits {
  readonly min: number;
  /** `undefined` where the module sets none. */
  readonly max: number | undefined;
}

/** What a core module defines that takes memory, in order of definition. */
export interface CoreModule {
  /** How many memories it imports: they stand before its own in the index space. */
  readonly importedMemories: number;
  readonly memories: readonly Limits[];
  readonly tables: readonly Limits[];
}

/** Sections of a core module (core specification, section 5.5.2). */
export const SECTION = { type: 1, import: 2, table: 4, memory: 5, export: 7 } as const;

const FUNCTION_TYPE = 0x60;
const REFERENCE_TYPES: readonly number[] = [0x63, 0x64];
const TABLE_WITH_INITIAL_VALUE = 0x40;

/**
 * Reads what a core module imports, exports and allocates.
 *
 * @throws {ToolPreparationError} when a name in it is unsafe, or it allocates what cannot be limited.
 */
export function readCoreModule(binary: Uint8Array): CoreModule {
  if (!isCoreModule(binary)) throw new ToolPreparationError("a core module in it is of an unknown format");
  let importedMemories = 0;
  const memories: Limits[] = [];
  const tables: Limits[] = [];
  for (const { id, body } of sections(binary)) {
    const reader = new BinaryReader(body);
    if (id === SECTION.type) reader.vector(() => readFunctionType(reader));
    else if (id === SECTION.import) reader.vector(() => (importedMemories += readImport(reader)));
    else if (id === SECTION.table) reader.vector(() => tables.push(readTable(reader).limits));
    else if (id === SECTION.memory) reader.vector(() => memories.push(readLimits(reader)));
    else if (id === SECTION.export) reader.vector(() => readExport(reader));
  }
  return { importedMemories, memories, tables };
}

/** Arrays and structs live on V8's heap, outside the linear memories that a grant limits. */
function readFunctionType(reader: BinaryReader): void {
  if (reader.byte() !== FUNCTION_TYPE) {
    throw new ToolPreparationError("a core module uses garbage-collected types, whose memory has no limit");
  }
  reader.vector(() => skipValueType(reader));
  reader.vector(() => skipValueType(reader));
}

function skipValueType(reader: BinaryReader): void {
  // What follows is a signed LEB128 of up to 33 bits: its end is all that matters.
  if (REFERENCE_TYPES.includes(reader.byte())) while ((reader.byte() & 0x80) !== 0);
}

/** Returns how many memories were imported: 0 or 1. */
function readImport(reader: BinaryReader): number {
  checkCoreName(reader.name());
  checkCoreName(reader.name());
  const kind = reader.byte();
  switch (kind) {
    case 0: // a function
      reader.u32();
      return 0;
    case 1: // a table
      readTable(reader);
      return 0;
    case 2: // a memory
      readLimits(reader);
      return 1;
    case 3: // a global
      skipValueType(reader);
      reader.byte();
      return 0;
    case 4: // a tag
      reader.byte();
      reader.u32();
      return 0;
    default:
      throw new ToolPreparationError("a core module imports something of an unknown kind");
  }
}

function readExport(reader: BinaryReader): void {
  checkCoreName(reader.name());
  reader.byte();
  reader.u32();
}

/** A table's element type, as it is written, and its limits. */
export function readTable(reader: BinaryReader): {
  readonly limits: Limits;
  readonly type: readonly number[];
} {
  const type = [reader.byte()];
  if (type[0] === TABLE_WITH_INITIAL_VALUE) {
    throw new ToolPreparationError("a core module has a table with an initial value, which is not supported");
  }
  if (REFERENCE_TYPES.includes(type[0] ?? 0)) {
    for (let more = true; more; ) {
      const byte = reader.byte();
      type.push(byte);
      more = (byte & 0x80) !== 0;
    }
  }
  return { type, limits: readLimits(reader) };
}

/** 32-bit limits (section 5.3.11); shared and 64-bit memories and custom page sizes are refused. */
export function readLimits(reader: BinaryReader): Limits {
  const flags = reader.byte();
  if (flags > 1) {
    throw new ToolPreparationError("a core module has a shared or 64-bit memory or table: not supported");
  }
  const min = reader.u32();
  return { min, max: flags === 1 ? reader.u32() : undefined };
}
