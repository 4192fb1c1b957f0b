import { MIN_MEMORY_BYTES } from "./engine-build.ts";
import { EngineInstance } from "./engine-instance.ts";
import type { Snapshot } from "./snapshot.ts";

/** How many instances a thread keeps: one for each kind that it met lately. */
const MAX_KEPT = 4;

/** A thread's instances between two calls. */
export class InstanceShelf {
  readonly #engine: WebAssembly.Module;
  /** By size and cap of their memory, and what their driver has; the one that was used last comes last. */
  readonly #kept = new Map<string, EngineInstance>();

  constructor(engine: WebAssembly.Module) {
    this.#engine = engine;
  }

  /** An instance in which nothing ran yet. */
  create(maxBytes: number, hasOutside: boolean): Promise<EngineInstance> {
    return EngineInstance.create(this.#engine, MIN_MEMORY_BYTES, maxBytes, hasOutside);
  }

  /** An instance for a snapshot, used or new. It belongs to the caller. */
  take({ memoryBytes, hasOutside }: Snapshot, maxBytes: number): EngineInstance | Promise<EngineInstance> {
    const key = keyOf(memoryBytes, maxBytes, hasOutside);
    const kept = this.#kept.get(key);
    if (kept === undefined) return EngineInstance.create(this.#engine, memoryBytes, maxBytes, hasOutside);
    this.#kept.delete(key);
    return kept;
  }

  /** Keeps an instance for later calls, unless it ran out of memory or grew. */
  put(instance: EngineInstance): void {
    const { memory, maxBytes, hasOutside } = instance;
    if (!memory.isPristine) return;
    const key = keyOf(memory.bytes, maxBytes, hasOutside);
    this.#kept.delete(key);
    this.#kept.set(key, instance);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MAX_KEPT) break;
      this.#kept.delete(oldest);
    }
  }
}

function keyOf(memoryBytes: number, maxBytes: number, hasOutside: boolean): string {
  return `${memoryBytes} ${maxBytes} ${hasOutside}`;
}
