import { ToolPreparationError } from "../../contract/sandbox.ts";
import type { BinaryReader } from "./binary-reader.ts";
import { INSTRUCTION, readInstruction } from "./instructions.ts";

/** Bytes of a data section (section 5.5.14) that are no data. */
export function offsetBytes(reader: BinaryReader): number {
  const from = reader.at;
  let dataBytes = 0;
  reader.vector(() => {
    const flags = reader.u32();
    if (flags === 2) reader.u32();
    if (flags !== 1) skipOffset(reader);
    dataBytes += reader.bytes(reader.u32()).length;
  });
  return reader.at - from - dataBytes;
}

function skipOffset(reader: BinaryReader): void {
  for (;;) {
    const instruction = readInstruction(reader);
    if (instruction === INSTRUCTION.end) return;
    if (instruction === undefined || !CONSTANT.includes(instruction)) {
      throw new ToolPreparationError("a core module computes where its data goes in an unknown way");
    }
  }
}

/**
 * Instructions of a constant expression (section 3.3.10): globals and integers; `add`, `sub` and `mul` of 32 and of
 * 64 bits.
 */
const CONSTANT: readonly number[] = [0x23, 0x41, 0x42, 0x6a, 0x6b, 0x6c, 0x7c, 0x7d, 0x7e];
