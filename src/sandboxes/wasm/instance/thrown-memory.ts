import { getHeapStatistics } from "node:v8";
import { collectGarbage } from "../../threads/discarded-memory.ts";
import type { CompiledCore } from "../artifact.ts";
import { OWN_NAMES } from "../core-module/core-name.ts";
import { SLICE_BYTES } from "../interruptible/exceptions.ts";

/** After exceptions of a part of the limit, it is measured how many of them are still in use. */
const MEASURED_SHARE = 1 / 8;

/** A module that exports the function that it imports, because a global only takes functions of WebAssembly. */
const PASS_ON = Uint8Array.of(
  0x00,
  0x61,
  0x73,
  0x6d,
  0x01,
  0x00,
  0x00,
  0x00,
  // (type (func (param i32) (result i32))) (import "" "" (func (type 0))) (export "" (func 0))
  0x01,
  0x06,
  0x01,
  0x60,
  0x01,
  0x7f,
  0x01,
  0x7f,
  0x02,
  0x05,
  0x01,
  0x00,
  0x00,
  0x00,
  0x00,
  0x07,
  0x04,
  0x01,
  0x00,
  0x00,
  0x00,
);

let passOn: WebAssembly.Module | undefined;

/**
 * What exceptions of one instance of a component take. Code can keep any number of them, in tables and on the stack. As V8
 * does not say what it takes for them, the growth of the thread's heap counts.
 */
export class ThrownMemory {
  readonly #limit: () => number;
  readonly #exceeded: () => void;
  #decide: WebAssembly.ExportValue | undefined;
  /** What the heap had when the instance had thrown its first exceptions. */
  #baseline: number | undefined;
  #inUse = 0;
  /** What was thrown since the last measurement. */
  #thrown = 0;

  /**
   * @param limit Returns the memory limit of the current call.
   * @param exceeded Is called before the call traps.
   */
  constructor(limit: () => number, exceeded: () => void) {
    this.#limit = limit;
    this.#exceeded = exceeded;
  }

  /** Counts the exceptions of a core instance as well. */
  watch({ exports }: WebAssembly.Instance, { throws }: CompiledCore): void {
    if (!throws) return;
    this.#decide ??= webAssemblyFunction(() => this.#next());
    (exports[OWN_NAMES.exceptions] as WebAssembly.Global).value = this.#decide;
  }

  /** The most that its exceptions take now, in bytes. */
  get bytes(): number {
    return this.#inUse + this.#thrown;
  }

  /** Nothing of the instance is in use any more. */
  forget(): void {
    this.#baseline = undefined;
    this.#inUse = 0;
    this.#thrown = 0;
  }

  /** Returns how many bytes of exceptions the core instance may throw next; 0 if none. */
  #next(): number {
    this.#thrown += SLICE_BYTES;
    if (this.#baseline === undefined) {
      this.#baseline = heapBytes();
      this.#thrown = 0;
    }
    const limit = this.#limit();
    if (this.#thrown <= limit * MEASURED_SHARE) return SLICE_BYTES;
    this.#thrown = 0;
    this.#inUse = Math.max(0, heapBytes() - this.#baseline);
    if (this.#inUse <= limit) return SLICE_BYTES;
    this.#exceeded();
    return 0;
  }
}

/** What is in use of the thread's heap. */
function heapBytes(): number {
  collectGarbage();
  return getHeapStatistics().used_heap_size;
}

function webAssemblyFunction(run: () => number): WebAssembly.ExportValue {
  passOn ??= new WebAssembly.Module(PASS_ON);
  return new WebAssembly.Instance(passOn, { "": { "": run } }).exports[""] as WebAssembly.ExportValue;
}
