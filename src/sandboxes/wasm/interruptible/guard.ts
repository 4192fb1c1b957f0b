import { type Code, call, functionType, globalGet, I32, localGet, OP, prefixed } from "./assembly.ts";
import type { BulkInstruction, Helper } from "./helper.ts";

/** The instructions of a guard that begin or end blocks or call: `if`, `call` and `end`. */
export const GUARD_BRANCHES = 3;

/**
 * Calls the guard if a global is not 0, which never happens. V8 looks for an interrupt when a function is entered, but
 * leaves that out of optimised functions without calls. A tail call does not count as one. V8 cannot tell that the
 * global stays 0.
 */
export function guardCall(guard: number, global: number): Code {
  return [...globalGet(global), OP.if, OP.noResult, ...call(guard), OP.end];
}

/** The guard. It calls itself, so that a call is left where V8 inlines it. */
export function guardHelper(self: number, global: number): Helper {
  return {
    name: "sandgate:guard",
    type: functionType([], []),
    body: [0, ...guardCall(self, global), OP.end],
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
