import { BinaryReader } from "./binary-reader.ts";
import type { CoreModule } from "./core-module.ts";
import { InstructionReader } from "./instruction-reader.ts";
import { INSTRUCTION } from "./instructions.ts";
import { readValueType } from "./value-types.ts";

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

/**
 * Finds what the code of a core module can change in an instance besides memories: returns the indices of its own
 * mutable globals, which must all be numbers. The state of an instance consists only of memories, globals, tables and
 * segments (section 4.2.5).
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
