import { MIN_MEMORY_BYTES } from "../engine/engine-binary.ts";
import { EngineInstance } from "../engine/engine-instance.ts";
import type { Snapshot } from "../engine/snapshot.ts";

/** The most instances that a thread keeps: one for each combination of memory size and cap. */
const MAX_KEPT = 4;

/** Keeps a thread's engine instances between calls, so that a call rarely has to create one. */
export class InstancePool {
  /** In order of use, the most recently used one last. */
  readonly #kept: EngineInstance[] = [];

  /** Creates an instance in which nothing has run. */
  create(engine: WebAssembly.Module, maxBytes: number): Promise<EngineInstance> {
    return EngineInstance.create(engine, MIN_MEMORY_BYTES, maxBytes);
  }

  /** Returns an instance for a snapshot, a kept or a new one. The caller owns it until it calls {@link put}. */
  take(
    engine: WebAssembly.Module,
    memoryBytes: Snapshot["memoryBytes"],
    maxBytes: number,
  ): EngineInstance | Promise<EngineInstance> {
    const index = this.#indexOf(memoryBytes, maxBytes);
    const kept = index < 0 ? undefined : this.#kept.splice(index, 1)[0];
    return kept ?? EngineInstance.create(engine, memoryBytes, maxBytes);
  }

  /** Keeps an instance for later calls, unless it is broken, ran out of memory or grew. Returns whether it is kept. */
  put(instance: EngineInstance): boolean {
    const { memory, maxBytes } = instance;
    if (instance.isBroken || !memory.isPristine) return false;
    const index = this.#indexOf(memory.bytes, maxBytes);
    if (index >= 0) this.#kept.splice(index, 1);
    this.#kept.push(instance);
    if (this.#kept.length > MAX_KEPT) this.#kept.shift();
    return true;
  }

  #indexOf(memoryBytes: number, maxBytes: number): number {
    return this.#kept.findIndex((each) => each.maxBytes === maxBytes && each.memory.bytes === memoryBytes);
  }
}
