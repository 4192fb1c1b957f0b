import { u32Bytes } from "../../../src/sandboxes/wasm/core-module/binary.ts";
import { INSTRUCTION } from "../../../src/sandboxes/wasm/core-module/instructions.ts";
import { type Code, FUNCTIONS, I32, I64 } from "./core-module.ts";
import { get, type Opcode, set } from "./opcodes.ts";
import type { Random } from "./random.ts";

/** How deep blocks are within each other. */
const MAX_DEPTH = 4;

/** How many statements a function has at most. */
const MAX_STATEMENTS = 2_000;

/** Instructions whose operands are chosen so that they have something to do. */
const BULK: readonly number[] = [
  INSTRUCTION.memoryInit,
  INSTRUCTION.memoryCopy,
  INSTRUCTION.memoryFill,
  INSTRUCTION.tableInit,
  INSTRUCTION.tableCopy,
  INSTRUCTION.tableFill,
  INSTRUCTION.tableGrow,
  0x40,
];

/** Lengths: of nothing, of small, of large and of too much. */
const LENGTHS: readonly number[] = [0, 1, 100, 1_024, 1_025, 19_000, 1_000_000, 16_000_000, 2_000_000_000];

/** How many rounds a loop has: fewer than 5,000, which V8 trusts, and more. */
const ROUNDS: readonly number[] = [3, 100, 4_900, 1_000_000, 2_000_000_000];

/** Bodies of functions at random: statements, each of which leaves nothing on the stack. */
export class RandomBody {
  readonly #random: Random;
  readonly #opcodes: readonly Opcode[];
  readonly #bulk: readonly Opcode[];
  #left = 0;

  constructor(random: Random, opcodes: readonly Opcode[]) {
    this.#random = random;
    this.#opcodes = opcodes;
    this.#bulk = opcodes.filter(({ code }) => BULK.includes(code));
  }

  /** The code of one function. Some end with a tail call. */
  next(): Code {
    this.#left = MAX_STATEMENTS;
    const body = this.#block(0);
    if (!this.#random.chance(0.2)) return body;
    return [...body, INSTRUCTION.returnCall, this.#random.below(FUNCTIONS)];
  }

  #block(depth: number): Code {
    const code: number[] = [];
    // Now and then a long line.
    const statements = this.#random.chance(0.05) ? 400 : 1 + this.#random.below(8);
    for (let index = 0; index < statements && this.#left > 0; index++) {
      this.#left--;
      for (const byte of this.#statement(depth)) code.push(byte);
    }
    return code;
  }

  #statement(depth: number): Code {
    const kind = this.#random.below(100);
    if (depth < MAX_DEPTH && kind < 12) return this.#loop(depth);
    if (depth < MAX_DEPTH && kind < 16) return [0x02, 0x40, ...this.#block(depth + 1), 0x0b];
    if (depth < MAX_DEPTH && kind < 20) {
      const either = [...get(I32), 0x04, 0x40, ...this.#block(depth + 1)];
      return [...either, 0x05, ...this.#block(depth + 1), 0x0b];
    }
    if (depth < MAX_DEPTH && kind < 24) return this.#try(depth);
    if (kind < 30) return [0x41, ...signed(this.#random.pick(LENGTHS)), ...set(I32, this.#random.below(2))];
    if (kind < 33) return [0x42, ...signed(this.#random.pick(LENGTHS)), ...set(I64, this.#random.below(2))];
    if (kind < 45) return this.#run(this.#random.pick(this.#bulk), this.#random.chance(0.8));
    return this.#run(this.#random.pick(this.#opcodes), this.#random.chance(0.9));
  }

  /** A loop without end, with a constant count, or that depends on a value. */
  #loop(depth: number): Code {
    const body = this.#block(depth + 1);
    const kind = this.#random.below(3);
    if (kind === 0) return [0x03, 0x40, ...body, 0x0c, 0, 0x0b];
    if (kind === 1) return [0x03, 0x40, ...body, ...get(I32, 1), 0x0d, 0, 0x0b];
    const less = [...get(I32, 1), 0x41, 1, 0x6a, 0x22, 1, 0x41, ...signed(this.#random.pick(ROUNDS)), 0x48];
    return [0x41, 0, ...set(I32, 1), 0x03, 0x40, ...body, ...less, 0x0d, 0, 0x0b];
  }

  /** A block that catches everything, and goes on behind it. */
  #try(depth: number): Code {
    return [0x02, 0x40, 0x1f, 0x40, 1, 0x02, 0, ...this.#block(depth + 1), 0x0b, 0x0b];
  }

  /** An instruction with values of variables. If it is safe, it does not trap. */
  #run({ code, bytes, params, result }: Opcode, isSafe: boolean): Code {
    const length = this.#random.pick(isSafe ? lengthsWithin(code) : LENGTHS);
    const values = params.map((type, index) => {
      if (index === 2 && type === I32) return [0x41, ...signed(length)];
      const value = get(type, this.#random.below(2));
      if (!isSafe || type > I64) return value;
      if (params.length === 3 && index < 2) return type === I32 ? [0x41, 8 * index] : value;
      // The first is an address, or the index of an element. The second is not 0, to divide by it.
      if (type === I32)
        return index === 0 ? [...value, 0x41, ...signed(0x1ff8), 0x71] : [...value, 0x41, 1, 0x72];
      return [...value, 0x42, 1, 0x84];
    });
    return [...values.flat(), ...bytes, ...(result === undefined ? [] : set(result, this.#random.below(2)))];
  }
}

/** Lengths that are within the memory, table or segment of an instruction. */
function lengthsWithin(code: number): readonly number[] {
  const most =
    code >= INSTRUCTION.tableInit ? 19_000 : code === INSTRUCTION.memoryInit ? 2_000_000 : 16_000_000;
  return LENGTHS.filter((length) => length <= most);
}

/** A constant from 0 to 2^31 - 1: the last byte's second highest bit is the sign. */
function signed(value: number): Code {
  const bytes = u32Bytes(value);
  const last = bytes.at(-1) ?? 0;
  return last < 0x40 ? bytes : [...bytes.slice(0, -1), last | 0x80, 0];
}
