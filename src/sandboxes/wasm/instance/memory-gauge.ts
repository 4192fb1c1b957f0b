import { getHeapStatistics } from "node:v8";
import { collectGarbage } from "../../threads/discarded-memory.ts";
import type { CompiledCore } from "../artifact.ts";
import {
  canGrow,
  memoryExportName,
  PAGE_BYTES,
  TABLE_ELEMENT_BYTES,
  tableExportName,
} from "../core-module/core-limits.ts";
import { OWN_NAMES } from "../core-module/core-name.ts";
import { SLICE_BYTES } from "../interruptible/helpers.ts";

/** A memory counts as full when less than this part of it is left: allocators ask for more than a page. */
const SMALL_REST = 1 / 8;

interface CappedMemory {
  readonly memory: WebAssembly.Memory;
  /** In bytes. */
  readonly cap: number;
  readonly lowered: boolean;
}

/** Shows how large the linear memories and tables of an instance are. */
export class MemoryGauge {
  readonly #memories: CappedMemory[] = [];
  readonly #growingTables: WebAssembly.Table[] = [];
  /** V8's objects for the instance. */
  readonly #objectBytes: number;
  /** Elements of tables that cannot grow. */
  #elements = 0;

  constructor(objectBytes: number) {
    this.#objectBytes = objectBytes;
  }

  /** Watches the memories and tables of a core instance as well. */
  watch({ exports }: WebAssembly.Instance, { memories, tables }: CompiledCore): void {
    for (const [index, { maxPages, lowered }] of memories.entries()) {
      const memory = exports[memoryExportName(index)] as WebAssembly.Memory;
      this.#memories.push({ memory, cap: maxPages * PAGE_BYTES, lowered });
    }
    for (const [index, table] of tables.entries()) {
      if (canGrow(table)) this.#growingTables.push(exports[tableExportName(index)] as WebAssembly.Table);
      else this.#elements += table.minElements;
    }
  }

  /** Bytes of all of them now. */
  get bytes(): number {
    const elements = this.#growingTables.reduce((sum, { length }) => sum + length, this.#elements);
    return this.#memories.reduce(
      (sum, { memory }) => sum + memory.buffer.byteLength,
      this.#objectBytes + elements * TABLE_ELEMENT_BYTES,
    );
  }

  /** Whether one of the memories has no space left that the grant took from it. */
  get isAtCap(): boolean {
    return this.#memories.some(
      ({ memory, cap, lowered }) => lowered && cap - memory.buffer.byteLength <= cap * SMALL_REST,
    );
  }
}

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
 * The memory of the exceptions of one component instance. Code can store any number of them, in tables and on
 * the stack. As V8 does not report their size, the growth of the thread's heap counts.
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

  /** Returns how many bytes of exceptions the core instance may throw next. */
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
