import { ToolPreparationError } from "../../contract/sandbox.ts";
import type { BinaryReader } from "./binary-reader.ts";
import { InstructionReader } from "./instruction-reader.ts";
import { INSTRUCTION } from "./instructions.ts";

/** V8's own limit. */
const MAX_SEGMENTS = 100_000;

const PASSIVE = 1;
const ACTIVE_IN_MEMORY = 2;

/**
 * Reads a data section (core specification, section 5.5.14).
 *
 * @returns the length of each segment in bytes.
 */
export function readDataSegments(reader: BinaryReader): readonly number[] {
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
 * Instructions of a constant expression (section 3.3.10): globals and integers; `add`, `sub` and `mul` of 32 and of
 * 64 bits.
 */
const CONSTANT: readonly number[] = [0x23, 0x41, 0x42, 0x6a, 0x6b, 0x6c, 0x7c, 0x7d, 0x7e];
