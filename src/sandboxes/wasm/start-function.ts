import { BinaryReader } from "./binary-reader.ts";
import type { CoreModule } from "./core-module.ts";

/** The most instructions that a start function may come to, those that it calls included. */
const MAX_STEPS = 10_000;

/** How deep they may call each other. */
const MAX_DEPTH = 64;

/** What stands in the code of functions that only go forward (core specification, section 5.4). */
const OPCODE = { block: 0x02, if: 0x04, call: 0x10 } as const;

type StartingModule = Pick<CoreModule, "start" | "code" | "importedFunctions">;

/**
 * Whether a core module may be instantiated where no deadline is: it has no start function, or one that is over
 * after a few thousand instructions, whatever happens. It may have neither loops nor calls to what it imports, and
 * no instruction that is not known here.
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

/** Numbers, vectors and the two plain references (section 5.3). */
const SIMPLE_TYPES: readonly number[] = [0x7f, 0x7e, 0x7d, 0x7c, 0x7b, 0x70, 0x6f];

/** Follows functions without running them: what has no loops runs each instruction once at the most. */
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
    const reader = new BinaryReader(body);
    let isKnown = true;
    reader.vector(() => {
      reader.u32();
      // A type of more than one byte would shift all that follows.
      isKnown &&= SIMPLE_TYPES.includes(reader.byte());
    });
    if (!isKnown) return false;
    while (!reader.isAtEnd) {
      if (this.#left-- <= 0) return false;
      const opcode = reader.byte();
      if (opcode === OPCODE.call) {
        if (!this.isBounded(reader.u32(), depth + 1)) return false;
      } else if (!skipImmediates(reader, opcode)) return false;
    }
    return true;
  }
}

/** Skips what belongs to an instruction; `false` for one that may not be there. */
function skipImmediates(reader: BinaryReader, opcode: number): boolean {
  if (opcode === OPCODE.block || opcode === OPCODE.if || opcode === 0x41 || opcode === 0x42) {
    // A block's type, or an integer.
    while ((reader.byte() & 0x80) !== 0);
    return true;
  }
  // Branches, which go forward only; variables; the size of a memory.
  if (opcode === 0x0c || opcode === 0x0d || (opcode >= 0x20 && opcode <= 0x24) || opcode === 0x3f) {
    reader.u32();
    return true;
  }
  // Loads and stores.
  if (opcode >= 0x28 && opcode <= 0x3e) {
    const alignment = reader.u32();
    reader.u32();
    return alignment < 0x40;
  }
  if (opcode === 0x43 || opcode === 0x44) {
    reader.bytes(opcode === 0x43 ? 4 : 8);
    return true;
  }
  // `unreachable`, `nop`, `else`, `end`, `return`, `drop`, `select`, and what computes numbers.
  return [0x00, 0x01, 0x05, 0x0b, 0x0f, 0x1a, 0x1b].includes(opcode) || (opcode >= 0x45 && opcode <= 0xc4);
}
