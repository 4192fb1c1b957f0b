import type { End } from "./both-engines.ts";
import type { Encoding } from "./value-component.ts";

/** A call of a component of `value-component.ts` in which the engines differ. */
export interface Difference {
  readonly direction: "get" | "put";
  /** In WIT, with named types written out. */
  readonly type: string;
  readonly encoding: Encoding;
  /** For `get`, the bytes of the memory from `RESULT_AT`, in hex; for `put`, the value in JSON. */
  readonly given: string;
  readonly ours: End;
  readonly jco: End;
}

/** Whether both calls gave the same value, or both trapped. The texts of traps differ. */
export function isSameEnd(ours: End, jco: End): boolean {
  return "value" in ours ? "value" in jco && ours.value === jco.value : "trap" in jco;
}
