import type { Handles } from "./handles.ts";
import type { LiftBudget } from "./lift-budget.ts";
import { AbiError } from "./value.ts";

type Realloc = (old: number, oldSize: number, alignment: number, size: number) => number;

/** The memory of a component instance, and how it stores strings and handles there. */
export interface MemoryAccessOptions {
  /** The index of the component instance. */
  readonly component: number;
  readonly memory: WebAssembly.Memory | undefined;
  readonly realloc: Realloc | undefined;
  readonly encoding: "utf8" | "utf16" | "latin1+utf16";
  readonly handles: Handles;
  readonly budget: LiftBudget;
}

/** Reads and writes a component's memory while values are lifted from it or lowered into it. */
export class MemoryAccess {
  readonly component: number;
  readonly encoding: MemoryAccessOptions["encoding"];
  readonly handles: Handles;
  readonly budget: LiftBudget;
  readonly #memory: WebAssembly.Memory | undefined;
  readonly #realloc: Realloc | undefined;
  #view: DataView | undefined;

  constructor({ component, memory, realloc, encoding, handles, budget }: MemoryAccessOptions) {
    this.component = component;
    this.encoding = encoding;
    this.handles = handles;
    this.budget = budget;
    this.#memory = memory;
    this.#realloc = realloc;
  }

  /** A view of the current buffer, because a memory that grows gets a new buffer. */
  get view(): DataView {
    const buffer = this.#memory?.buffer;
    if (buffer === undefined) throw new AbiError("it passes a value in memory but declares no memory");
    if (this.#view?.buffer !== buffer) this.#view = new DataView(buffer);
    return this.#view as DataView;
  }

  /**
   * Checks a pointer to a value.
   *
   * @throws {AbiError} if it is not aligned, or the value is out of bounds.
   */
  check(at: number, alignment: number, size: number): void {
    if (at % alignment !== 0) throw new AbiError("a pointer is not aligned");
    if (at + size > this.view.byteLength) throw new AbiError("a value is out of the bounds of memory");
  }

  /**
   * Returns bytes of the memory without copying them.
   *
   * @throws {AbiError} if they are out of bounds.
   */
  bytes(at: number, length: number): Uint8Array {
    this.check(at, 1, length);
    return new Uint8Array(this.view.buffer, at, length);
  }

  /**
   * Calls the component's `realloc` to allocate memory.
   *
   * @throws {AbiError} if there is no `realloc`, or it returns an invalid pointer.
   */
  allocate(alignment: number, size: number): number {
    if (this.#realloc === undefined)
      throw new AbiError("it receives a value in memory but declares no realloc");
    const at = this.handles.withoutLeaving(() => this.#realloc?.(0, 0, alignment, size) ?? 0) >>> 0;
    if (at % alignment !== 0 || at + size > this.view.byteLength) {
      throw new AbiError("realloc returned an invalid pointer");
    }
    return at;
  }
}
