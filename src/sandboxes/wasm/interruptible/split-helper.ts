import { INSTRUCTION } from "../core-module/instructions.ts";
import {
  type Code,
  call,
  functionType,
  I32,
  i32Const,
  localGet,
  localSet,
  OP,
  prefixed,
} from "./assembly.ts";
import type { BulkInstruction, Helper } from "./helper.ts";

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
export function splitHelper({ code, indices }: BulkInstruction, self: number, value: Code): Helper {
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
