import { ToolPreparationError } from "../../contract/sandbox.ts";
import type { Code } from "./assembly.ts";

/** Code that goes in place of the bytes between two positions. */
export interface Edit {
  readonly from: number;
  readonly to: number;
  readonly code: Code;
}

/** The largest components of honest compilers need a twentieth of this. */
const MAX_EDITS = 1_048_576;

/** By how many bytes edits make the code longer. */
export function growthBy(edits: readonly Edit[]): number {
  return edits.reduce((sum, { from, to, code }) => sum + code.length - (to - from), 0);
}

/** Bytes, copied with changes in some places. */
export class EditedBytes {
  readonly #original: Uint8Array;
  /** Up to where the original was copied. */
  #at: number;
  #copy: Buffer;
  #length = 0;
  #edits = 0;

  /** @param start Where the original begins to be copied. */
  constructor(original: Uint8Array, start: number) {
    this.#original = original;
    this.#at = start;
    this.#copy = Buffer.allocUnsafe(original.length - start);
  }

  /** Whether nothing was changed. */
  get isSame(): boolean {
    return this.#edits === 0;
  }

  /**
   * Adds an edit behind all earlier ones.
   *
   * @throws {ToolPreparationError} if there are too many.
   */
  edit({ from, to, code }: Edit): void {
    if (++this.#edits > MAX_EDITS) {
      throw new ToolPreparationError(
        `a core module has more than ${MAX_EDITS} functions, loops, bulk instructions and tail calls`,
      );
    }
    this.#append(this.#original.subarray(this.#at, from));
    this.#append(code);
    this.#at = to;
  }

  /** Copies the rest of the original, and returns everything. */
  finish(): Uint8Array {
    this.#append(this.#original.subarray(this.#at));
    this.#at = this.#original.length;
    return this.#copy.subarray(0, this.#length);
  }

  #append(bytes: Uint8Array | Code): void {
    const length = this.#length + bytes.length;
    if (length > this.#copy.length) {
      const larger = Buffer.allocUnsafe(length * 2);
      larger.set(this.#copy.subarray(0, this.#length));
      this.#copy = larger;
    }
    this.#copy.set(bytes, this.#length);
    this.#length = length;
  }
}
