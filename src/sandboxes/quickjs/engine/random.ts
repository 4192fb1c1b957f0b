import type { QuickJSContext } from "quickjs-emscripten";
import { RANDOM_STATE } from "./engine-binary.ts";

/** Sets the state of `Math.random`. */
export function writeRandomState(memory: WebAssembly.Memory, state: bigint): void {
  new DataView(memory.buffer).setBigUint64(RANDOM_STATE, state, true);
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
