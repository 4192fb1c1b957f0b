import { ToolPreparationError } from "../../contract/sandbox.ts";
import { BinaryReader } from "../core-module/binary.ts";
import type { CoreModule } from "../core-module/core-module.ts";
import type { Table } from "../core-module/definitions.ts";
import { INSTRUCTION } from "../core-module/instructions.ts";
import {
  type BulkInstruction,
  type Code,
  call,
  callReference,
  functionType,
  globalGet,
  globalSet,
  type Helper,
  I32,
  i32Const,
  localGet,
  localSet,
  noFunction,
  OP,
  prefixed,
  variable,
} from "./assembly.ts";
import { countedGuardCall, type Guard, growHelper, guardCall, guardHelper } from "./guard.ts";

/**
 * Bytes of exceptions that a core instance may throw until the host decides whether it may throw more. An exception is on
 * V8's heap, outside the memories that a grant limits, for as long as anything refers to it.
 */
export const SLICE_BYTES: number = 256 * 1_024;

/** The function that counts exceptions, its type, and the global variables that it uses. */
interface ExceptionCharge {
  readonly function: number;
  readonly type: number;
  /** The host's function, of the same type: how many bytes more may be thrown; 0 ends the call. */
  readonly decide: number;
  /** How many bytes are left. */
  readonly left: number;
}

/** What an instruction may do in one piece: a few microseconds of work. */
const CHUNK_BYTES = 65_536;

const CHUNK_ELEMENTS = 1_024;

/** The instructions that can be split, with their names. */
const SPLITTABLE: ReadonlyMap<number, string> = new Map([
  [INSTRUCTION.memoryInit, "memory.init"],
  [INSTRUCTION.memoryCopy, "memory.copy"],
  [INSTRUCTION.memoryFill, "memory.fill"],
  [INSTRUCTION.tableInit, "table.init"],
  [INSTRUCTION.tableCopy, "table.copy"],
  [INSTRUCTION.tableFill, "table.fill"],
]);

/** Local variables of a helper: the operands of the instruction, and the length of the lower half. */
const TARGET = localGet(0);

const SOURCE = localGet(1);

const LENGTH = localGet(2);

const HALF = localGet(3);

const SET_HALF = localSet(3);

/** Each takes about a hundred bytes, where the instruction takes three. */
const MAX_HELPERS = 4_096;

/** The functions that are appended to a core module: one for each bulk instruction and the indices behind it. */
export class Helpers {
  /** The index of the first one: behind all functions of the module. */
  readonly first: number;
  readonly #firstGlobal: number;
  readonly #firstType: number;
  /** The globals to append. */
  readonly #globals: Code[] = [];
  readonly #tables: readonly Table[];
  readonly #indices = new Map<string, number>();
  readonly #all: Helper[] = [];
  #guard: Guard | undefined;
  #charge: ExceptionCharge | undefined;

  constructor({
    importedFunctions,
    functions,
    types,
    importedGlobals,
    globals,
    importedTables,
    tables,
  }: CoreModule) {
    this.first = importedFunctions + functions;
    this.#firstType = types.length;
    this.#firstGlobal = importedGlobals + (globals === undefined ? 0 : new BinaryReader(globals).u32());
    this.#tables = [...importedTables, ...tables];
  }

  /** All of them, in the order of their indices. */
  get all(): readonly Helper[] {
    return this.#all;
  }

  /** The globals to append, in the order of their indices. */
  get globals(): readonly Code[] {
    return this.#globals;
  }

  /** The index of the global with the function that decides on exceptions; `undefined` if nothing throws any. */
  get exceptionGlobal(): number | undefined {
    return this.#charge?.decide;
  }

  /** The index of the function to call in place of a bulk instruction. */
  indexFor(instruction: BulkInstruction): number {
    const key = [instruction.code, ...instruction.indices].join(" ");
    const known = this.#indices.get(key);
    if (known !== undefined) return known;
    const index = this.#add(instruction);
    this.#indices.set(key, index);
    return index;
  }

  /** What goes to the entry of a function and before tail calls. */
  guard(): Code {
    return guardCall(this.#addGuard());
  }

  /** What goes into a loop. */
  loopGuard(counter: number, bytes: number): Code {
    return countedGuardCall(this.#addGuard(), counter, bytes);
  }

  /** What goes before an instruction that throws an exception of a size. */
  charge(bytes: number): Code {
    if (this.#charge === undefined) {
      const type = this.#firstType + this.#all.length;
      const decide = this.#addGlobal(noFunction(type));
      const left = this.#addGlobal(variable(SLICE_BYTES));
      this.#charge = { function: this.#next, type, decide, left };
      this.#all.push(chargeHelper(this.#charge));
    }
    return chargeCall(this.#charge, bytes);
  }

  #addGlobal(code: Code): number {
    return this.#firstGlobal + this.#globals.push(code) - 1;
  }

  #addGuard(): Guard {
    if (this.#guard === undefined) {
      this.#guard = { function: this.#next, global: this.#addGlobal(variable(0)) };
      this.#all.push(guardHelper(this.#guard));
    }
    return this.#guard;
  }

  get #next(): number {
    return this.first + this.#all.length;
  }

  #add(instruction: BulkInstruction): number {
    if (this.#all.length >= MAX_HELPERS) {
      throw new ToolPreparationError(`a core module uses bulk instructions in more than ${MAX_HELPERS} ways`);
    }
    const { code, indices } = instruction;
    // V8 refuses a module that names a table which does not exist.
    const element = this.#tables[indices[0] ?? 0]?.type ?? I32;
    if (code === INSTRUCTION.tableGrow) {
      const guard = this.guard();
      this.#all.push(growHelper(instruction, element, guard));
    } else {
      this.#all.push(splitHelper(instruction, this.#next, code === INSTRUCTION.tableFill ? element : I32));
    }
    return this.#next - 1;
  }
}

/**
 * A function that does what a bulk instruction does, in pieces, and with the same traps. V8 interrupts nothing that
 * is one instruction, but looks for an interrupt at the beginning of each call of a function that calls others.
 *
 * - Up to a chunk, it does the instruction itself.
 * - If the end of a range wraps around, so does the instruction, which traps.
 * - Otherwise it does the instruction at the ends of the ranges with length 0. If an end is outside, that traps as
 *   the whole would, before anything was written.
 * - Then it calls itself for each half. Within one memory or table, the half that would be overwritten comes first.
 *
 * @param self The index of the helper.
 * @param value The type of the second operand.
 */
function splitHelper({ code, indices }: BulkInstruction, self: number, value: Code): Helper {
  const name = SPLITTABLE.get(code) ?? "";
  const isFill = code === INSTRUCTION.memoryFill || code === INSTRUCTION.tableFill;
  const isWithin = name.endsWith(".copy") && indices[0] === indices[1];
  const chunk = name.startsWith("memory") ? CHUNK_BYTES : CHUNK_ELEMENTS;
  const instruction = prefixed(code, ...indices);
  const whole = [...TARGET, ...SOURCE, ...LENGTH, ...instruction];
  const targetEnd = [...TARGET, ...LENGTH, OP.add];
  const sourceEnd = [...SOURCE, ...LENGTH, OP.add];
  const targetWraps = [...targetEnd, ...TARGET, OP.isLess];
  const sourceWraps = [...sourceEnd, ...SOURCE, OP.isLess, OP.or];
  const upperSource = isFill ? SOURCE : [...SOURCE, ...HALF, OP.add];
  const lower = [...TARGET, ...SOURCE, ...HALF, ...call(self)];
  const upper = [...TARGET, ...HALF, OP.add, ...upperSource, ...LENGTH, ...HALF, OP.subtract, ...call(self)];
  const halves = isWithin
    ? [
        ...TARGET,
        ...SOURCE,
        OP.isAtMost,
        OP.if,
        OP.noResult,
        ...lower,
        ...upper,
        OP.else,
        ...upper,
        ...lower,
        OP.end,
      ]
    : [...lower, ...upper];
  return {
    name: ["sandgate", name, ...indices].join(":"),
    type: functionType([I32, value, I32], []),
    body: [
      1,
      1,
      ...I32,
      ...LENGTH,
      ...i32Const(chunk),
      OP.isAtMost,
      OP.if,
      OP.noResult,
      ...whole,
      OP.return,
      OP.end,
      ...targetWraps,
      ...(isFill ? [] : sourceWraps),
      OP.if,
      OP.noResult,
      ...whole,
      OP.unreachable,
      OP.end,
      ...targetEnd,
      ...(isFill ? SOURCE : sourceEnd),
      ...i32Const(0),
      ...instruction,
      ...LENGTH,
      ...i32Const(1),
      OP.shiftRight,
      ...SET_HALF,
      ...halves,
      OP.end,
    ],
  };
}

/** Counts an exception that is about to be thrown. */
function chargeCall({ function: charge }: ExceptionCharge, bytes: number): Code {
  return [...i32Const(bytes), ...call(charge), OP.drop];
}

/** Takes the size of an exception from what is left. A trap ends the call, which code cannot catch. */
function chargeHelper({ type, decide, left }: ExceptionCharge): Helper {
  return {
    name: "sandgate:exception",
    type: functionType([I32], [I32]),
    body: [
      0,
      ...globalGet(left),
      ...localGet(0),
      OP.subtract,
      ...globalSet(left),
      ...globalGet(left),
      ...i32Const(0),
      OP.isLessSigned,
      OP.if,
      OP.noResult,
      ...localGet(0),
      ...globalGet(decide),
      ...callReference(type),
      ...globalSet(left),
      ...globalGet(left),
      OP.isZero,
      OP.if,
      OP.noResult,
      OP.unreachable,
      OP.end,
      OP.end,
      ...globalGet(left),
      OP.end,
    ],
  };
}
