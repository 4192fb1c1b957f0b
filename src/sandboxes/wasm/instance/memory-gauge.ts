import type { CompiledCore } from "../artifact.ts";
import { memoryExportName, tableExportName } from "../core-module/core-limits.ts";
import { canGrow, PAGE_BYTES, TABLE_ELEMENT_BYTES } from "../core-module/memory-budget.ts";

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
