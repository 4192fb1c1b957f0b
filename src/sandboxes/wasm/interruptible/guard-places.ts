import { goesForward } from "../core-module/forward-instructions.ts";
import type { InstructionReader } from "../core-module/instruction-reader.ts";
import { INSTRUCTION } from "../core-module/instructions.ts";

/** A function without loops and with no more code than this returns soon, and needs no guard. */
const QUICK_FUNCTION_BYTES = 16;

/** A loop without other loops, calls and the like, and with no more code than this, needs no guard. */
const QUICK_LOOP_BYTES = 128;

/** But only so many in each function: V8 may interrupt none of them. */
const QUICK_LOOPS = 16;

/** A block that is not a loop. */
const NO_LOOP = 0;

/**
 * Finds the places where a function needs guards.
 *
 * V8's optimising compiler does not look for an interrupt at the entry of a function that calls no others, nor in
 * innermost loops with a constant count below 5,000. Its other compiler looks in a loop only after about 13,000,000
 * bytes of machine code. A loop that is not optimised could therefore call an optimised function for minutes.
 *
 * A guard counts as a call, but takes no longer than reading a variable. One is at the entry of each function, and one
 * in each loop, except in small loops: it would double their time.
 */
export class GuardPlaces {
  readonly #places: number[] = [];
  /** For each open block: where the code of a loop begins, or `NO_LOOP`. */
  readonly #blocks: number[] = [];
  /** The innermost loop, as long as it only goes forward. A loop around another one is never quick. */
  #quickLoop = NO_LOOP;
  #quickLoops = 0;
  #hasLoops = false;
  #start = 0;

  /** Begins with a function whose instructions start at a position. */
  begin(start: number): void {
    this.#places.length = 0;
    this.#blocks.length = 0;
    this.#quickLoop = NO_LOOP;
    this.#quickLoops = 0;
    this.#hasLoops = false;
    this.#start = start;
  }

  /** Looks at the instruction that was just read. */
  see({ code, at }: InstructionReader): void {
    switch (code) {
      case INSTRUCTION.loop:
        this.#blocks.push(at);
        this.#quickLoop = at;
        this.#hasLoops = true;
        return;
      case INSTRUCTION.block:
      case INSTRUCTION.if:
        this.#blocks.push(NO_LOOP);
        return;
      case INSTRUCTION.try:
      case INSTRUCTION.tryTable:
        this.#blocks.push(NO_LOOP);
        this.#quickLoop = NO_LOOP;
        return;
      case INSTRUCTION.end:
      case INSTRUCTION.delegate:
        this.#endBlock(at);
        return;
      default:
        if (!goesForward(code)) this.#quickLoop = NO_LOOP;
    }
  }

  #endBlock(at: number): void {
    const loop = this.#blocks.pop() ?? NO_LOOP;
    if (loop === NO_LOOP) return;
    const isQuick = loop === this.#quickLoop && at - loop <= QUICK_LOOP_BYTES;
    if (!isQuick || ++this.#quickLoops > QUICK_LOOPS) this.#places.push(loop);
    this.#quickLoop = NO_LOOP;
  }

  /** The positions at which a function that ends at a position needs guards, in no particular order. */
  end(at: number): readonly number[] {
    if (this.#hasLoops || at - this.#start > QUICK_FUNCTION_BYTES) this.#places.push(this.#start);
    return this.#places;
  }
}
