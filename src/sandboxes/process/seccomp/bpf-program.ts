/** Opcodes of classic BPF (linux/filter.h) that a seccomp filter needs. */
const LOAD = 0x20; // BPF_LD | BPF_W | BPF_ABS
const JUMP_EQUAL = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
const JUMP_AT_LEAST = 0x35; // BPF_JMP | BPF_JGE | BPF_K
const JUMP_ANY_BIT = 0x45; // BPF_JMP | BPF_JSET | BPF_K
const AND = 0x54; // BPF_ALU | BPF_AND | BPF_K
const RETURN = 0x06; // BPF_RET | BPF_K

/** What a filter returns: the action in the upper half, an errno in the lower (linux/seccomp.h). */
export const ALLOW = 0x7fff0000;
export const KILL_PROCESS = 0x80000000;
export const fail = (errno: number): number => 0x00050000 | errno;

/** Offsets in `struct seccomp_data`. */
export const NUMBER = 0;
export const ARCHITECTURE = 4;
/** The lower half of an argument. Both supported architectures are little-endian. */
export const argument = (index: number): number => 16 + 8 * index;

/** Writes a classic BPF program, one instruction of eight bytes after the other. */
export class BpfProgram {
  readonly #instructions: Buffer[] = [];

  load(offset: number): this {
    return this.#add(LOAD, offset);
  }

  /** Clears the other bits of the loaded value. */
  and(bits: number): this {
    return this.#add(AND, bits);
  }

  return(action: number): this {
    return this.#add(RETURN, action);
  }

  /** Skips the next instructions unless the loaded value equals one. */
  unlessEqual(value: number, skipped: number): this {
    return this.#add(JUMP_EQUAL, value, 0, skipped);
  }

  /** Skips the next instructions if the loaded value equals one. */
  ifEqual(value: number, skipped: number): this {
    return this.#add(JUMP_EQUAL, value, skipped, 0);
  }

  /** Skips the next instructions unless the loaded value is at least as large. */
  unlessAtLeast(value: number, skipped: number): this {
    return this.#add(JUMP_AT_LEAST, value, 0, skipped);
  }

  /** Skips the next instructions unless the loaded value has one of these bits. */
  unlessAnyBit(bits: number, skipped: number): this {
    return this.#add(JUMP_ANY_BIT, bits, 0, skipped);
  }

  toBuffer(): Buffer {
    return Buffer.concat(this.#instructions);
  }

  #add(code: number, operand: number, whenTrue = 0, whenFalse = 0): this {
    const instruction = Buffer.alloc(8);
    instruction.writeUInt16LE(code, 0);
    instruction[2] = whenTrue;
    instruction[3] = whenFalse;
    instruction.writeUInt32LE(operand >>> 0, 4);
    this.#instructions.push(instruction);
    return this;
  }
}
