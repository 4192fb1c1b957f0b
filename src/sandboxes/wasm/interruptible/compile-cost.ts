import type { CoreModule } from "../core-module/core-module.ts";
import type { Signature } from "../core-module/definitions.ts";
import { type InstructionReader, NO_RESULT, ONE_RESULT } from "../core-module/instruction-reader.ts";
import { INSTRUCTION } from "../core-module/instructions.ts";
import { GUARD_BRANCHES } from "./guard.ts";

type Row = readonly [from: number, to: number, change: number];

/** Values that instructions add to the stack, or take from it. What blocks and calls do depends on their types. */
const ROWS: readonly Row[] = [
  // if, throw_ref, br_if, br_table; call_indirect and call_ref take the function.
  [0x04, 0x04, -1],
  [0x0d, 0x0e, -1],
  [0x11, 0x11, -1],
  [0x14, 0x14, -1],
  // drop, select, select with a type.
  [0x1a, 0x1a, -1],
  [0x1b, 0x1c, -2],
  // local.get and local.set, global.get and global.set, table.set.
  [0x20, 0x20, 1],
  [0x21, 0x21, -1],
  [0x23, 0x23, 1],
  [0x24, 0x24, -1],
  [0x26, 0x26, -2],
  // Stores, memory.size, constants.
  [0x36, 0x3e, -2],
  [0x3f, 0x3f, 1],
  [0x41, 0x44, 1],
  // Comparisons of two numbers: i32, i64, f32 and f64.
  [0x46, 0x4f, -1],
  [0x51, 0x66, -1],
  // Operations on two numbers.
  [0x6a, 0x78, -1],
  [0x7c, 0x8a, -1],
  [0x92, 0x98, -1],
  [0xa0, 0xa6, -1],
  // ref.null, ref.func, ref.eq.
  [0xd0, 0xd0, 1],
  [0xd2, 0xd2, 1],
  [0xd3, 0xd3, -1],
];

/** By instructions of one byte: by how much they change the height of the stack, at most. */
const HEIGHT_CHANGE: Int8Array = new Int8Array(0x100);

for (const [from, to, change] of ROWS) HEIGHT_CHANGE.fill(change, from, to + 1);

/**
 * The cost above which V8 has to show how long it takes to compile a function. A function of this cost takes it 30 to
 * 150 ms and up to 36 MiB. The largest functions of optimised programs cost less.
 */
const MAX_COST = 3_000_000;

/** Larger functions have to show it, too: so much code takes about 25 ms. */
const MAX_BODY_BYTES = 256 * 1_024;

/** What one value costs at an instruction that does not branch or call: V8 may have to look for those in registers. */
const PLAIN_COST = 1 / 32;

/** The last instruction with one byte that V8 may compile to more than a few machine instructions: `memory.grow`. */
const MEMORY_GROW = 0x40;
const FIRST_PLAIN = 0x1a;
const FIRST_TABLE = 0x25;
const LAST_NUMERIC = 0xc4;
const VECTORS = 0xfd;

/**
 * Estimates from above what V8's compiler takes for a function: at each branch and at each call it looks at all local
 * variables and at all values on the stack, and takes memory for them. So it follows how high the stack is at most.
 */
export class CompileCost {
  readonly #module: Pick<CoreModule, "types" | "functionTypes">;
  #variables = 0;
  #height = 0;
  #cost = 0;
  /** For each open block, the height at its beginning without its parameters, and the number of its results. */
  readonly #bases: number[] = [];
  readonly #results: number[] = [];

  constructor(module: Pick<CoreModule, "types" | "functionTypes">) {
    this.#module = module;
  }

  /** Begins a function with so many variables, parameters included. */
  begin(variables: number): void {
    this.#variables = variables;
    this.#height = 0;
    this.#cost = 0;
    this.#bases.length = 0;
    this.#results.length = 0;
  }

  /** Whether V8 has to show how long it takes for the function that ends here. */
  isHigh(bytes: number): boolean {
    // A sum that is not a number, of indices without meaning, is high.
    return bytes > MAX_BODY_BYTES || !(this.#cost <= MAX_COST);
  }

  /** Adds the instruction that was read last. */
  see(reader: InstructionReader): void {
    const { code } = reader;
    const values = this.#variables + this.#height;
    this.#cost += isPlain(code) ? values * PLAIN_COST : values * branchesOf(reader);
    if (code <= 0xff) this.#move(HEIGHT_CHANGE[code] as number);
    switch (code) {
      case INSTRUCTION.block:
      case INSTRUCTION.loop:
      case INSTRUCTION.if:
      case INSTRUCTION.try:
      case INSTRUCTION.tryTable:
        this.#open(this.#blockType(reader.second));
        return;
      case INSTRUCTION.else:
        this.#height = this.#bases.at(-1) ?? 0;
        return;
      case INSTRUCTION.end:
      case INSTRUCTION.delegate:
        this.#height = (this.#bases.pop() ?? 0) + (this.#results.pop() ?? 0);
        return;
      case INSTRUCTION.call:
        this.#call(this.#module.types[this.#module.functionTypes[reader.first] ?? -1]);
        return;
      case INSTRUCTION.callIndirect:
      case INSTRUCTION.callRef:
        this.#call(this.#module.types[reader.first]);
        return;
      case INSTRUCTION.catch:
        // How many values an exception has is not known.
        this.#cost = Number.POSITIVE_INFINITY;
        return;
      case INSTRUCTION.vectorConst:
      case INSTRUCTION.tableSize:
        // No other instruction with a prefix adds a value.
        this.#height += 1;
    }
  }

  /** The parameters of a block stay below its base: they are counted twice. */
  #open({ results }: Signature): void {
    this.#bases.push(this.#height);
    this.#results.push(results);
  }

  #blockType(type: number): Signature {
    if (type === NO_RESULT) return NOTHING;
    if (type === ONE_RESULT) return ONE_VALUE;
    return this.#module.types[type] ?? UNKNOWN;
  }

  #call({ parameters, results }: Signature = UNKNOWN): void {
    this.#move(-parameters);
    this.#height += results;
  }

  /** Unreachable code may pop more values than there are, but not from outside its block. */
  #move(change: number): void {
    this.#height = Math.max(this.#height + change, this.#bases.at(-1) ?? 0);
  }
}

const NOTHING: Signature = { parameters: 0, results: 0 };
const ONE_VALUE: Signature = { parameters: 0, results: 1 };
const UNKNOWN: Signature = { parameters: 0, results: Number.POSITIVE_INFINITY };

function isPlain(code: number): boolean {
  if (code >> 16 === VECTORS) return true;
  if (code < FIRST_PLAIN || code > LAST_NUMERIC || code === MEMORY_GROW) return false;
  return code !== INSTRUCTION.tryTable && (code < FIRST_TABLE || code > INSTRUCTION.tableSet);
}

/** How many branches an instruction is, with those of its guard. */
function branchesOf({ code, first }: InstructionReader): number {
  if (code === INSTRUCTION.brTable) return first;
  if (code === INSTRUCTION.loop) return 1 + GUARD_BRANCHES;
  return code === INSTRUCTION.tryTable ? first + 1 : 1;
}
