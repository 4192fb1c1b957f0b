import type { CompiledCore } from "../artifact.ts";
import { memoryExportName } from "../core-module/core-limits.ts";
import { PAGE_BYTES } from "../core-module/memory-budget.ts";

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

  /** Watches the memories of a core instance as well. */
  watch(instance: WebAssembly.Instance, { memories }: CompiledCore): void {
    for (const [index, { maxPages, lowered }] of memories.entries()) {
      const memory = instance.exports[memoryExportName(index)] as WebAssembly.Memory;
      this.#memories.push({ memory, cap: maxPages * PAGE_BYTES, lowered });
    }
  }

  /** Bytes of all of them now. */
  get bytes(): number {
    return this.#memories.reduce((sum, { memory }) => sum + memory.buffer.byteLength, 0);
  }

  /** Whether one of the memories has no space left that the grant took from it. */
  get isAtCap(): boolean {
    return this.#memories.some(
      ({ memory, cap, lowered }) => lowered && cap - memory.buffer.byteLength <= cap * SMALL_REST,
    );
  }
}
