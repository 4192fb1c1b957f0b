import type { Code } from "./assembly.ts";

/** A function that is appended to a core module. */
export interface Helper {
  /** For stack traces. */
  readonly name: string;
  readonly type: Code;
  /** Its local variables and its code. */
  readonly body: Code;
}

/** A bulk instruction, as it stands in the code. */
export interface BulkInstruction {
  /** One of `INSTRUCTION`. */
  readonly code: number;
  /** The indices behind it. */
  readonly indices: readonly number[];
}
