import { ToolPreparationError } from "../../contract/sandbox.ts";
import { BinaryReader, isCoreModule, sections } from "./binary-reader.ts";
import { checkCoreName, checkExportName } from "./core-name.ts";
import { offsetBytes } from "./data-segments.ts";

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
  /** How many functions it imports: they stand before its own. */
  readonly importedFunctions: number;
  /** How many globals it imports: they stand before its own. */
  readonly importedGlobals: number;
  /** The section with its own globals. */
  readonly globals: Uint8Array | undefined;
  /** The function that runs as soon as there is an instance. */
  readonly start: number | undefined;
  /** The section with the code of its functions. */
  readonly code: Uint8Array | undefined;
  /** Bytes that are read one by one to know all this. */
  readonly definitionBytes: number;
  /** Bytes that V8 evaluates for each instance: nothing interrupts that. Plain data is not among them. */
  readonly initialiserBytes: number;
}

/** Sections of a core module (core specification, section 5.5.2). */
export const CORE_SECTION = {
  type: 1,
  import: 2,
  table: 4,
  memory: 5,
  global: 6,
  export: 7,
  start: 8,
  element: 9,
  code: 10,
  data: 11,
} as const;

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
  let importedFunctions = 0;
  let importedGlobals = 0;
  let globals: Uint8Array | undefined;
  let start: number | undefined;
  let code: Uint8Array | undefined;
  let definitionBytes = 0;
  let initialiserBytes = 0;
  const countImport = (reader: BinaryReader): void => {
    const kind = readImport(reader);
    if (kind === IMPORTED.memory) importedMemories++;
    else if (kind === IMPORTED.function) importedFunctions++;
    else if (kind === IMPORTED.global) importedGlobals++;
  };
  for (const { id, body } of sections(binary)) {
    const reader = new BinaryReader(body);
    if (DEFINITIONS.includes(id)) {
      definitionBytes += body.length;
      refuseTooManyDefinitions(definitionBytes);
    }
    if (id === CORE_SECTION.global || id === CORE_SECTION.element) initialiserBytes += body.length;
    else if (id === CORE_SECTION.data) initialiserBytes += offsetBytes(reader);
    else if (id === CORE_SECTION.type) reader.vector(() => readFunctionType(reader));
    else if (id === CORE_SECTION.import) reader.vector(() => countImport(reader));
    else if (id === CORE_SECTION.table) reader.vector(() => tables.push(readTable(reader).limits));
    else if (id === CORE_SECTION.memory) reader.vector(() => memories.push(readLimits(reader)));
    else if (id === CORE_SECTION.export) reader.vector(() => readExport(reader));
    else if (id === CORE_SECTION.start) start = reader.u32();
    else if (id === CORE_SECTION.code) code = body;
    if (id === CORE_SECTION.global) globals = body;
  }
  return {
    ...{ importedMemories, memories, tables, importedFunctions, importedGlobals, globals, start, code },
    ...{ definitionBytes, initialiserBytes },
  };
}

/** The sections that are read item by item. */
const DEFINITIONS: readonly number[] = [
  CORE_SECTION.type,
  CORE_SECTION.import,
  CORE_SECTION.table,
  CORE_SECTION.memory,
  CORE_SECTION.export,
];

const MAX_DEFINITION_BYTES = 2 * 1_024 * 1_024;

/** @throws {ToolPreparationError} when there are so many that reading them one by one would take long. */
export function refuseTooManyDefinitions(bytes: number, most: number = MAX_DEFINITION_BYTES): void {
  if (bytes <= most) return;
  throw new ToolPreparationError(`it has more than ${most} bytes of definitions`);
}

/** Arrays and structs live on V8's heap, outside the linear memories that a grant limits. */
function readFunctionType(reader: BinaryReader): void {
  if (reader.byte() !== FUNCTION_TYPE) {
    throw new ToolPreparationError("a core module uses garbage-collected types, whose memory has no limit");
  }
  reader.vector(() => skipValueType(reader));
  reader.vector(() => skipValueType(reader));
}

/** Reads past a value type (section 5.3.4). */
export function skipValueType(reader: BinaryReader): void {
  // What follows is a signed LEB128 of up to 33 bits: its end is all that matters.
  if (REFERENCE_TYPES.includes(reader.byte())) while ((reader.byte() & 0x80) !== 0);
}

/** What can be imported (section 5.5.5). */
const IMPORTED = { function: 0, table: 1, memory: 2, global: 3, tag: 4 } as const;

/** Returns which of {@link IMPORTED} it is. */
function readImport(reader: BinaryReader): number {
  checkCoreName(reader.name());
  checkCoreName(reader.name());
  const kind = reader.byte();
  switch (kind) {
    case IMPORTED.function:
      reader.u32();
      break;
    case IMPORTED.table:
      readTable(reader);
      break;
    case IMPORTED.memory:
      readLimits(reader);
      break;
    case IMPORTED.global:
      skipValueType(reader);
      reader.byte();
      break;
    case IMPORTED.tag:
      reader.byte();
      reader.u32();
      break;
    default:
      throw new ToolPreparationError("a core module imports something of an unknown kind");
  }
  return kind;
}

function readExport(reader: BinaryReader): void {
  checkExportName(reader.name());
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
