import {
  type BulkInstruction,
  type Code,
  call,
  functionType,
  globalGet,
  type Helper,
  I32,
  i32Const,
  localGet,
  localSet,
  localTee,
  OP,
  prefixed,
} from "./assembly.ts";

/** The instructions of a guard that begin or end blocks or call: `if`, `call` and `end`. */
export const GUARD_BRANCHES = 3;

/** How many times as much code as below runs between two pauses of a loop. It takes at most some milliseconds. */
const UNITS = 16_384;

/** Bytes of code that count as one. */
const BYTES_OF_UNIT = 16;

/** The guard, and the global variable that stays 0. */
export interface Guard {
  readonly function: number;
  readonly global: number;
}

/**
 * Calls the guard if a global is not 0, which never happens. V8 looks for an interrupt when a function is
 * entered, but leaves that out of optimised functions without calls. A tail call does not count as one. V8
 * cannot know that the global stays 0.
 */
export function guardCall({ function: guard, global }: Guard): Code {
  return [...globalGet(global), OP.if, OP.noResult, ...call(guard), OP.end];
}

/**
 * Counts a round of a loop, and calls the guard now and then.
 *
 * @param counter A local variable of type `i32`, which is 0 at first.
 * @param bytes How much code the loop has.
 */
export function countedGuardCall(guard: Guard, counter: number, bytes: number): Code {
  const units = Math.ceil(bytes / BYTES_OF_UNIT);
  return [
    ...localGet(counter),
    ...i32Const(units),
    OP.add,
    ...localTee(counter),
    ...i32Const(UNITS),
    OP.isGreaterSigned,
    OP.if,
    OP.noResult,
    ...call(guard.function),
    ...i32Const(0),
    ...localSet(counter),
    OP.end,
  ];
}

/** The guard. It calls itself, so that V8 looks for an interrupt when it is entered. */
export function guardHelper(guard: Guard): Helper {
  return {
    name: "sandgate:guard",
    type: functionType([], []),
    body: [0, ...guardCall(guard), OP.end],
  };
}

/** A function that grows a table. That cannot be split; each call of the function is a chance to interrupt it. */
export function growHelper({ code, indices }: BulkInstruction, element: Code, guard: Code): Helper {
  return {
    name: ["sandgate:table.grow", ...indices].join(":"),
    type: functionType([element, I32], [I32]),
    body: [0, ...guard, ...localGet(0), ...localGet(1), ...prefixed(code, ...indices), OP.end],
  };
}
