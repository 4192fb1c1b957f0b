import type { InstructionReader } from "../core-module/instruction-reader.ts";
import { goesForward, INSTRUCTION } from "../core-module/instructions.ts";

/** A function without loops and with no more code than this returns soon, and needs no guard. */
const QUICK_FUNCTION_BYTES = 16;

/** A loop without other loops, calls and the like, and with no more code than this, needs no guard. */
const QUICK_LOOP_BYTES = 128;

/**
 * But only if it reads memory so often: each time may take as long as a hundred other instructions. V8 looks for an
 * interrupt after some 100,000 rounds, which are late by 0.4 s if each reads 64 MiB here and there twice.
 */
const QUICK_LOOP_LOADS = 1;

/** And writes it so often. */
const QUICK_LOOP_STORES = 2;

/** The limit for each function, since V8 may not interrupt any of them. */
const QUICK_LOOPS = 16;

/** The codes of instructions that read memory, and of those that write it. */
const FIRST_LOAD = 0x28;
const FIRST_STORE = 0x36;
const LAST_STORE = 0x3e;

/** Where a loop needs a guard, and how much code it has. */
export interface LoopPlace {
  readonly at: number;
  readonly bytes: number;
}

/** A block that is not a loop. */
const NO_LOOP = 0;

/**
 * Finds the places where a function needs guards.
 *
 * V8's optimising compiler does not look for an interrupt at the entry of a function that calls no others,
 * nor in innermost loops with a constant count below 5,000. Its other compiler looks in a loop only after
 * about 13,000,000 bytes of machine code. A loop that is not optimised could therefore call an optimised
 * function for minutes, or read memory for a second.
 *
 * A guard counts as a call, but takes no longer than a few other instructions. One is at the entry of each
 * function, and one that counts iterations in each loop. Small loops have no guard, which would double their
 * time.
 */
export class GuardPlaces {
  readonly #loops: LoopPlace[] = [];
  /** For each open block: where the code of a loop begins, or `NO_LOOP`. */
  readonly #blocks: number[] = [];
  /** The innermost loop, as long as it only goes forward. A loop around another one is never quick. */
  #quickLoop = NO_LOOP;
  #loads = 0;
  #stores = 0;
  #quickLoops = 0;
  #hasLoops = false;
  #start = 0;

  /** Begins with a function whose instructions start at a position. */
  begin(start: number): void {
    this.#loops.length = 0;
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
        this.#loads = 0;
        this.#stores = 0;
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
        if (code >= FIRST_LOAD && code < FIRST_STORE) this.#loads++;
        else if (code >= FIRST_STORE && code <= LAST_STORE) this.#stores++;
        else if (!goesForward(code)) this.#quickLoop = NO_LOOP;
    }
  }

  #endBlock(at: number): void {
    const loop = this.#blocks.pop() ?? NO_LOOP;
    if (loop === NO_LOOP) return;
    const bytes = at - loop;
    const isQuick =
      loop === this.#quickLoop &&
      bytes <= QUICK_LOOP_BYTES &&
      this.#loads <= QUICK_LOOP_LOADS &&
      this.#stores <= QUICK_LOOP_STORES;
    if (!isQuick || ++this.#quickLoops > QUICK_LOOPS) this.#loops.push({ at: loop, bytes });
    this.#quickLoop = NO_LOOP;
  }

  /** The loops that need guards, in no particular order. */
  get loops(): readonly LoopPlace[] {
    return this.#loops;
  }

  /** Whether a function that ends at a position needs a guard at its entry. */
  needsEntryGuard(end: number): boolean {
    return this.#hasLoops || end - this.#start > QUICK_FUNCTION_BYTES;
  }
}
