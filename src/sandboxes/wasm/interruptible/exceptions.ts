import {
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
  OP,
} from "./assembly.ts";

/**
 * Bytes of exceptions that a core instance may throw until the host decides whether it may throw more. An exception is on
 * V8's heap, outside the memories that a grant limits, for as long as anything refers to it.
 */
export const SLICE_BYTES: number = 256 * 1_024;

/** The function that counts exceptions, its type, and the global variables that it uses. */
export interface ExceptionCharge {
  readonly function: number;
  readonly type: number;
  /** The host's function, of the same type: how many bytes more may be thrown; 0 ends the call. */
  readonly decide: number;
  /** How many bytes are left. */
  readonly left: number;
}

/** Counts an exception that is about to be thrown. */
export function chargeCall({ function: charge }: ExceptionCharge, bytes: number): Code {
  return [...i32Const(bytes), ...call(charge), OP.drop];
}

/** Takes the size of an exception from what is left. A trap ends the call, which code cannot catch. */
export function chargeHelper({ type, decide, left }: ExceptionCharge): Helper {
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
