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

/** Longer parts of the original are not copied. */
const SHORT_BYTES = 4_096;

const CHUNK_BYTES = 64 * 1_024;

/** Bytes with changes in some places. */
export class EditedBytes {
  readonly #original: Uint8Array;
  /** Up to where the original was taken. */
  #at: number;
  readonly #parts: Uint8Array[] = [];
  /** Where short parts are copied to, and how much of it is used. */
  #chunk = new Uint8Array(0);
  #used = 0;
  #edits = 0;

  /** @param start Where the original begins to be taken. */
  constructor(original: Uint8Array, start: number) {
    this.#original = original;
    this.#at = start;
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
        `a core module has more than ${MAX_EDITS} functions, loops, bulk instructions, exceptions and tail calls`,
      );
    }
    this.#append(this.#original.subarray(this.#at, from));
    this.#append(code);
    this.#at = to;
  }

  /** Takes the rest of the original, and returns everything in parts. */
  finish(): readonly Uint8Array[] {
    this.#append(this.#original.subarray(this.#at));
    this.#at = this.#original.length;
    this.#endChunk();
    return this.#parts;
  }

  #append(bytes: Uint8Array | Code): void {
    if (bytes instanceof Uint8Array && bytes.length > SHORT_BYTES) {
      this.#endChunk();
      this.#parts.push(bytes);
      return;
    }
    if (this.#used + bytes.length > this.#chunk.length) {
      this.#endChunk();
      this.#chunk = new Uint8Array(Math.max(CHUNK_BYTES, bytes.length));
    }
    this.#chunk.set(bytes, this.#used);
    this.#used += bytes.length;
  }

  /** What is copied next goes to the rest of the chunk. */
  #endChunk(): void {
    if (this.#used > 0) this.#parts.push(this.#chunk.subarray(0, this.#used));
    this.#chunk = this.#chunk.subarray(this.#used);
    this.#used = 0;
  }
}
