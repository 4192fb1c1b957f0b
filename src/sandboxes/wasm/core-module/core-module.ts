import { ToolPreparationError } from "../../contract/sandbox.ts";
import { BinaryReader, CORE_SECTION, isCoreModule, sections } from "./binary.ts";
import {
  type FunctionType,
  type Limits,
  readExport,
  readFunctionType,
  readImport,
  readLimits,
  readTable,
  readTag,
  type Table,
} from "./definitions.ts";
import { InstructionReader } from "./instruction-reader.ts";
import { INSTRUCTION } from "./instructions.ts";

/** The name of the custom section that names things (core specification, appendix "Name Section"). */
export const NAME_SECTION = "name";

/** Subsections with the name of the module and with those of functions. */
export const MODULE_NAME = 0;

export const FUNCTION_NAMES = 1;

/** The stack of each error that a component causes has up to ten names. */
const MAX_NAME_BYTES = 32 * 1_024;

/** V8's own limit. */
const MAX_SEGMENTS = 100_000;

const PASSIVE = 1;

const ACTIVE_IN_MEMORY = 2;

/**
 * Instructions of a constant expression (section 3.3.10): globals and integers; `add`, `sub` and `mul` of 32 and of
 * 64 bits.
 */
const CONSTANT: readonly number[] = [0x23, 0x41, 0x42, 0x6a, 0x6b, 0x6c, 0x7c, 0x7d, 0x7e];

/** The definitions of a core module that take memory or time, or have an index. */
export interface CoreModule {
  /** Its function types. */
  readonly types: readonly FunctionType[];
  /** The index of the type of each function, first of those that it imports. */
  readonly functionTypes: readonly number[];
  /** The number of functions, memories and globals that it imports, whose indices precede those of its own. */
  readonly importedFunctions: number;
  readonly importedMemories: number;
  readonly importedGlobals: number;
  /** The number of functions that it defines. */
  readonly functions: number;
  /** The index of the type of each tag, first of those that it imports. */
  readonly tags: readonly number[];
  /** The memories that it defines. */
  readonly memories: readonly Limits[];
  /** The tables that it imports. */
  readonly importedTables: readonly Table[];
  /** The tables that it defines. */
  readonly tables: readonly Table[];
  /** The section with the globals that it defines. */
  readonly globals: Uint8Array | undefined;
  /** The function that runs as soon as there is an instance. */
  readonly start: number | undefined;
  /** The section with the code of its functions. */
  readonly code: Uint8Array | undefined;
  /** The size of each data segment in bytes. */
  readonly dataBytes: readonly number[];
  /** The size of the definitions in bytes, which are read one by one, and their number. */
  readonly definitionBytes: number;
  readonly definitions: number;
  /** The bytes that V8 allocates for an instance without its memories and tables. */
  readonly objectBytes: number;
  /** The size of the initialisers that V8 evaluates for each instance without interruption; without plain data. */
  readonly initialiserBytes: number;
}

/** What an instance has of the things for which V8 makes objects. */
interface InstanceParts {
  readonly functions: number;
  readonly importedFunctions: number;
  readonly exported: number;
  readonly tables: number;
  /** The size of the section with its elements, each of which takes at least a byte. */
  readonly elementBytes: number;
}

/**
 * Returns the bytes that V8 allocates for an instance without its memories and tables, as measured with V8
 * 14.6: references to all of its functions, a function in JavaScript for each one that it exports or imports,
 * an object for each one that is in a table, and its segments of elements.
 */
function bytesOfObjects({
  functions,
  importedFunctions,
  exported,
  tables,
  elementBytes,
}: InstanceParts): number {
  const referenced = Math.min(functions, elementBytes);
  return (
    functions * 16 +
    importedFunctions * 144 +
    exported * 400 +
    tables * 512 +
    referenced * 80 +
    elementBytes * 8
  );
}

/**
 * Reads what a core module imports, exports and allocates.
 *
 * @throws {ToolPreparationError} if it has an unsafe name, or allocates something that cannot be limited.
 */
export function readCoreModule(binary: Uint8Array): CoreModule {
  if (!isCoreModule(binary)) throw new ToolPreparationError("it has a core module of an unknown format");
  const imported = { function: 0, memory: 0, global: 0 };
  const importedTables: Table[] = [];
  const tables: Table[] = [];
  const memories: Limits[] = [];
  const types: FunctionType[] = [];
  const tags: number[] = [];
  const functionTypes: number[] = [];
  let globals: Uint8Array | undefined;
  let start: number | undefined;
  let code: Uint8Array | undefined;
  let dataBytes: readonly number[] = [];
  let definitionBytes = 0;
  let definitions = 0;
  let exported = 0;
  let elementBytes = 0;
  let initialiserBytes = 0;
  const countImport = (reader: BinaryReader): void => {
    const read = readImport(reader);
    if (read.kind === "table") importedTables.push(read.table);
    else if (read.kind === "tag") tags.push(read.type);
    else imported[read.kind]++;
    if (read.kind === "function") functionTypes.push(read.type);
  };
  for (const { id, body } of sections(binary)) {
    const reader = new BinaryReader(body);
    if (DEFINITIONS.includes(id)) {
      definitionBytes += body.length;
      refuseTooManyDefinitions(definitionBytes);
      definitions += new BinaryReader(body).u32();
      refuseTooMany(definitions);
    }
    if (id === CORE_SECTION.type) reader.vector(() => types.push(readFunctionType(reader)));
    else if (id === CORE_SECTION.import) reader.vector(() => countImport(reader));
    else if (id === CORE_SECTION.custom) checkNames(body);
    else if (id === CORE_SECTION.function) reader.vector(() => functionTypes.push(reader.u32()));
    else if (id === CORE_SECTION.table) reader.vector(() => tables.push(readTable(reader)));
    else if (id === CORE_SECTION.memory) reader.vector(() => memories.push(readLimits(reader)));
    else if (id === CORE_SECTION.tag) reader.vector(() => tags.push(readTag(reader)));
    else if (id === CORE_SECTION.global) globals = body;
    else if (id === CORE_SECTION.export) exported = reader.vector(() => readExport(reader));
    else if (id === CORE_SECTION.element) elementBytes = body.length;
    else if (id === CORE_SECTION.start) start = reader.u32();
    else if (id === CORE_SECTION.code) code = body;
    else if (id === CORE_SECTION.data) dataBytes = readDataSegments(reader);
    if (id === CORE_SECTION.global || id === CORE_SECTION.element) initialiserBytes += body.length;
    else if (id === CORE_SECTION.data) initialiserBytes += body.length - sum(dataBytes);
  }
  const objectBytes = bytesOfObjects({
    functions: functionTypes.length,
    importedFunctions: imported.function,
    exported,
    elementBytes,
    tables: importedTables.length + tables.length,
  });
  return {
    objectBytes,
    definitions,
    types,
    functionTypes,
    functions: functionTypes.length - imported.function,
    tags,
    memories,
    tables,
    importedTables,
    globals,
    start,
    code,
    dataBytes,
    importedFunctions: imported.function,
    importedMemories: imported.memory,
    importedGlobals: imported.global,
    definitionBytes,
    initialiserBytes,
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

/** The sections that are read item by item. */
const DEFINITIONS: readonly number[] = [
  CORE_SECTION.type,
  CORE_SECTION.import,
  CORE_SECTION.table,
  CORE_SECTION.memory,
  CORE_SECTION.tag,
  CORE_SECTION.export,
];

const MAX_DEFINITION_BYTES = 2 * 1_024 * 1_024;

/** The largest programs have a tenth of it. Each item costs V8 memory and time. */
const MAX_DEFINITIONS = 32_768;

/** @throws {ToolPreparationError} if core modules have so many definitions that reading them would take long. */
export function refuseTooMany(definitions: number): void {
  if (definitions <= MAX_DEFINITIONS) return;
  throw new ToolPreparationError(
    `its core modules have more than ${MAX_DEFINITIONS} types, imports, exports, memories, tables and tags`,
  );
}

/** @throws {ToolPreparationError} if there are so many definitions that reading them would take long. */
export function refuseTooManyDefinitions(bytes: number, most: number = MAX_DEFINITION_BYTES): void {
  if (bytes <= most) return;
  throw new ToolPreparationError(`it has more than ${most} bytes of definitions`);
}

/**
 * Reads a data section (core specification, section 5.5.14).
 *
 * @returns the length of each segment in bytes.
 */
function readDataSegments(reader: BinaryReader): readonly number[] {
  const lengths: number[] = [];
  reader.vector(() => {
    if (lengths.length === MAX_SEGMENTS) {
      throw new ToolPreparationError(`a core module has more than ${MAX_SEGMENTS} data segments`);
    }
    const flags = reader.u32();
    if (flags === ACTIVE_IN_MEMORY) reader.u32();
    if (flags !== PASSIVE) skipOffset(reader);
    lengths.push(reader.bytes(reader.u32()).length);
  });
  return lengths;
}

function skipOffset(reader: BinaryReader): void {
  // Nearly all offsets are a constant.
  if (reader.skipConstant(INSTRUCTION.i32Const, INSTRUCTION.end)) return;
  const instructions = new InstructionReader(reader.rest());
  while (instructions.next()) {
    if (instructions.code === INSTRUCTION.end) {
      reader.bytes(instructions.at);
      return;
    }
    if (!CONSTANT.includes(instructions.code)) break;
  }
  throw new ToolPreparationError("a core module computes the offset of its data in an unsupported way");
}

/**
 * Checks the names in a custom section that V8 shows in stack traces.
 *
 * @param body The section, beginning with its own name.
 * @throws {ToolPreparationError} if one is too long.
 */
function checkNames(body: Uint8Array): void {
  const longest = longestName(body);
  if (longest <= MAX_NAME_BYTES) return;
  throw new ToolPreparationError(
    `a core module has a name of ${longest} bytes for debugging: at most ${MAX_NAME_BYTES} are allowed. Remove its ` +
      "names, for example with 'wasm-tools strip'",
  );
}

/** V8 takes the names before the first one that is not well-formed. */
function longestName(body: Uint8Array): number {
  let longest = 0;
  try {
    const reader = new BinaryReader(body);
    if (reader.name() !== NAME_SECTION) return 0;
    while (!reader.isAtEnd) {
      const id = reader.byte();
      const content = new BinaryReader(reader.bytes(reader.u32()));
      if (id === MODULE_NAME) longest = Math.max(longest, content.u32());
      if (id !== FUNCTION_NAMES) continue;
      for (let left = content.u32(); left > 0; left--) {
        content.u32();
        const length = content.u32();
        longest = Math.max(longest, length);
        content.bytes(length);
      }
    }
  } catch {
    // V8 ignores the remainder, too.
  }
  return longest;
}
