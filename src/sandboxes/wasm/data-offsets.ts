import { ToolPreparationError } from "../sandbox.ts";
import type { BinaryReader } from "./binary-reader.ts";

/** Bytes of a data section (section 5.5.14) that are no data. */
export function offsetBytes(reader: BinaryReader): number {
  const from = reader.at;
  let dataBytes = 0;
  reader.vector(() => {
    const flags = reader.u32();
    if (flags === 2) reader.u32();
    if (flags !== 1) skipConstant(reader);
    dataBytes += reader.bytes(reader.u32()).length;
  });
  return reader.at - from - dataBytes;
}

/** Instructions of a constant expression (section 3.3.10): integers, what is computed of them, and globals. */
function skipConstant(reader: BinaryReader): void {
  for (;;) {
    const opcode = reader.byte();
    if (opcode === 0x0b) return;
    if (opcode === 0x41 || opcode === 0x42 || opcode === 0x23) while ((reader.byte() & 0x80) !== 0);
    else if (!INTEGER_OPERATIONS.includes(opcode)) {
      throw new ToolPreparationError("a core module computes where its data goes in an unknown way");
    }
  }
}

/** `add`, `sub` and `mul`, of 32 and of 64 bits. */
const INTEGER_OPERATIONS: readonly number[] = [0x6a, 0x6b, 0x6c, 0x7c, 0x7d, 0x7e];
