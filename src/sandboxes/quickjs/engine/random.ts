import { randomFillSync } from "node:crypto";
import type { QuickJSContext } from "quickjs-emscripten";
import { RANDOM_STATE } from "./engine-binary.ts";

/** How many bytes are drawn at once: one system call costs as much as a small tool call. */
const DRAWN_BYTES = 4_096;

/** Supplies random bytes, 8 at a time, and never the same bytes twice. */
export class RandomSupply {
  readonly #drawn: Uint8Array = new Uint8Array(DRAWN_BYTES);
  #at = DRAWN_BYTES;

  next(): Uint8Array {
    if (this.#at === DRAWN_BYTES) {
      randomFillSync(this.#drawn);
      this.#at = 0;
    }
    this.#at += 8;
    return this.#drawn.subarray(this.#at - 8, this.#at);
  }
}

/**
 * Checks the one address that no interface of the engine exposes. If it were wrong, guests restored from a snapshot
 * would share their random numbers.
 *
 * @throws {Error} if the engine keeps the state of `Math.random` elsewhere.
 */
export function checkRandomState(context: QuickJSContext, memory: WebAssembly.Memory): void {
  const read = (): bigint => new DataView(memory.buffer).getBigUint64(RANDOM_STATE, true);
  const before = read();
  context.unwrapResult(context.evalCode("Math.random()")).dispose();
  if (before === 0n || read() !== nextRandomState(before)) {
    throw new Error("the engine does not keep the state of Math.random at the expected address");
  }
}

/** xorshift64*, the generator of the engine. */
function nextRandomState(state: bigint): bigint {
  let next = state ^ (state >> 12n);
  next = BigInt.asUintN(64, next ^ (next << 25n));
  return next ^ (next >> 27n);
}
