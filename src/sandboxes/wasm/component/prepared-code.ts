import { BinaryReader } from "../core-module/binary.ts";
import type { CoreModule } from "../core-module/core-module.ts";
import { readValueType } from "../core-module/definitions.ts";
import { InstructionReader } from "../core-module/instruction-reader.ts";
import { goesForward, INSTRUCTION } from "../core-module/instructions.ts";
import { type InterruptibleModule, makeInterruptible } from "../interruptible/interruptible.ts";

const MAX_GLOBALS = 64;

/** Value types that JavaScript can read and write without loss (core specification, section 5.3.1). */
const NUMBERS: readonly number[] = [0x7f, 0x7e, 0x7d, 0x7c];

/** Instructions that change a table or drop a segment. */
const LASTING: readonly number[] = [
  INSTRUCTION.tableSet,
  INSTRUCTION.tableInit,
  INSTRUCTION.tableCopy,
  INSTRUCTION.tableGrow,
  INSTRUCTION.tableFill,
  INSTRUCTION.dataDrop,
  INSTRUCTION.elementDrop,
];

/** The maximum number of instructions that a start function may run, including the functions that it calls. */
const MAX_STEPS = 10_000;

/** The maximum depth of its calls. */
const MAX_DEPTH = 64;

type StartingModule = Pick<CoreModule, "start" | "code" | "importedFunctions">;

/** Counts instructions without running them. Without loops, each runs at most once. */
class ForwardCode {
  readonly #bodies: readonly Uint8Array[];
  readonly #imported: number;
  #left = MAX_STEPS;

  constructor(bodies: readonly Uint8Array[], imported: number) {
    this.#bodies = bodies;
    this.#imported = imported;
  }

  isBounded(index: number, depth = 0): boolean {
    if (depth > MAX_DEPTH) return false;
    const body = this.#bodies[index - this.#imported];
    if (body === undefined) return false;
    const instructions = new InstructionReader(body);
    instructions.locals();
    while (instructions.next()) {
      if (this.#left-- <= 0) return false;
      if (instructions.code === INSTRUCTION.call) {
        if (!this.isBounded(instructions.first, depth + 1)) return false;
      } else if (!goesForward(instructions.code)) return false;
    }
    return true;
  }
}

/** Components with more code than this are not checked for whether they can be restored. That takes 10 ms per MiB. */
const MAX_READ_BYTES = 1_024 * 1_024;

/** Restoring larger memories takes longer than creating an instance. */
const MAX_RESTORED_BYTES = 4 * 1_024 * 1_024;

/** Bytes of data segments that may be copied into memories outside a call, without a deadline. 64 MiB takes about 10 ms. */
const MAX_DATA_BYTES = 64 * 1_024 * 1_024;

/** A core module of a component, as read from its binary. */
export interface CoreSource {
  readonly binary: Uint8Array;
  readonly module: CoreModule;
  /** How many times the component instantiates it. */
  readonly instances: number;
}

/** The code of a component, ready to be compiled under a cap. */
export interface PreparedCode {
  /** Its core modules, in order. */
  readonly cores: readonly InterruptibleModule[];
  /** Whether creating an instance takes negligible time. */
  readonly startsAtOnce: boolean;
  /**
   * For each module, the globals to restore in addition to the memories; `undefined` if an instance cannot be
   * restored.
   */
  readonly globals: ReadonlyMap<number, readonly number[]> | undefined;
}

/**
 * Rewrites the core modules of a component, and analyses the code of those that are instantiated.
 *
 * @param initialBytes The initial size of an instance's memories.
 * @throws {ToolPreparationError} if one has instructions that are not supported, or takes too long to compile.
 */
export async function prepareCode(
  sources: readonly CoreSource[],
  initialBytes: number,
): Promise<PreparedCode> {
  const cores: InterruptibleModule[] = [];
  for (const { binary, module } of sources) cores.push(await makeInterruptible(binary, module));
  const used = [...sources.entries()].filter(([, { instances }]) => instances > 0);
  const dataBytes = used.reduce((sum, [, { module, instances }]) => sum + instances * dataBytesOf(module), 0);
  const isBounded = dataBytes <= MAX_DATA_BYTES && used.every(([, { module }]) => startsAtOnce(module));
  const codeBytes = used.reduce((sum, [, { module }]) => sum + (module.code?.length ?? 0), 0);
  if (!isBounded || codeBytes > MAX_READ_BYTES || initialBytes > MAX_RESTORED_BYTES) {
    return { cores, startsAtOnce: isBounded, globals: undefined };
  }
  const globals = new Map<number, readonly number[]>();
  for (const [index, { module }] of used) {
    const own = mutableGlobals(module);
    if (own === undefined) return { cores, startsAtOnce: isBounded, globals: undefined };
    globals.set(index, own);
  }
  return { cores, startsAtOnce: isBounded, globals };
}

function dataBytesOf({ dataBytes }: CoreModule): number {
  return dataBytes.reduce((sum, bytes) => sum + bytes, 0);
}

/**
 * Whether a core module may be instantiated without a deadline: it has no start function, or one that always ends after
 * a few thousand instructions. The start function must not have loops or call imported functions.
 *
 * @throws {ToolPreparationError} if its code has instructions that are not supported.
 */
export function startsAtOnce({ start, code, importedFunctions }: StartingModule): boolean {
  if (start === undefined) return true;
  const bodies: Uint8Array[] = [];
  if (code !== undefined) {
    const reader = new BinaryReader(code);
    reader.vector(() => bodies.push(reader.bytes(reader.u32())));
  }
  return new ForwardCode(bodies, importedFunctions).isBounded(start);
}

/**
 * Finds what the code of a core module can change in an instance, apart from memories: returns the indices of
 * its own mutable globals, which must all be numbers. The state of an instance consists only of memories,
 * globals, tables and segments (section 4.2.5).
 *
 * @returns `undefined` if it can change more than that.
 * @throws {ToolPreparationError} if its code has instructions that are not supported.
 */
export function mutableGlobals(
  module: Pick<CoreModule, "importedGlobals" | "globals" | "code">,
): readonly number[] | undefined {
  const globals = readGlobals(module);
  return globals !== undefined && codeLeavesTables(module.code) ? globals : undefined;
}

function readGlobals({
  importedGlobals,
  globals,
}: Pick<CoreModule, "importedGlobals" | "globals">): readonly number[] | undefined {
  if (globals === undefined) return [];
  const reader = new BinaryReader(globals);
  const mutable: number[] = [];
  for (let left = reader.u32(), index = importedGlobals; left > 0; left--, index++) {
    const [type = 0] = readValueType(reader);
    if (reader.byte() !== 0) {
      if (!NUMBERS.includes(type) || mutable.length === MAX_GLOBALS) return undefined;
      mutable.push(index);
    }
    const initialiser = new InstructionReader(reader.rest());
    while (initialiser.next() && initialiser.code !== INSTRUCTION.end);
    reader.bytes(initialiser.at);
  }
  return mutable;
}

/** Whether no instruction changes a table or drops a segment. */
function codeLeavesTables(code: Uint8Array | undefined): boolean {
  if (code === undefined) return true;
  const reader = new BinaryReader(code);
  for (let left = reader.u32(); left > 0; left--) {
    const instructions = new InstructionReader(reader.bytes(reader.u32()));
    instructions.locals();
    while (instructions.next()) if (LASTING.includes(instructions.code)) return false;
  }
  return true;
}
