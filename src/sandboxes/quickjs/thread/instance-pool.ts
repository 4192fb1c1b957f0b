import { MIN_MEMORY_BYTES } from "../engine/engine-binary.ts";
import { EngineInstance } from "../engine/engine-instance.ts";
import type { Snapshot } from "../engine/snapshot.ts";

/** How many instances a thread keeps: one for each kind that it met lately. */
const MAX_KEPT = 4;

/** A thread's instances between two calls. */
export class InstancePool {
  readonly #engine: WebAssembly.Module;
  /** The one that was used last comes last. */
  readonly #kept: EngineInstance[] = [];

  constructor(engine: WebAssembly.Module) {
    this.#engine = engine;
  }

  /** An instance in which nothing ran yet. */
  create(maxBytes: number, hasExternalAccess: boolean): Promise<EngineInstance> {
    return EngineInstance.create(this.#engine, MIN_MEMORY_BYTES, maxBytes, hasExternalAccess);
  }

  /** An instance for a snapshot, used or new. It belongs to the caller. */
  take(
    { memoryBytes, hasExternalAccess }: Snapshot,
    maxBytes: number,
  ): EngineInstance | Promise<EngineInstance> {
    const index = this.#indexOf(memoryBytes, maxBytes, hasExternalAccess);
    const kept = index < 0 ? undefined : this.#kept.splice(index, 1)[0];
    return kept ?? EngineInstance.create(this.#engine, memoryBytes, maxBytes, hasExternalAccess);
  }

  /** Keeps an instance for later calls, unless it ran out of memory or grew. */
  put(instance: EngineInstance): void {
    const { memory, maxBytes, hasExternalAccess } = instance;
    if (!memory.isPristine) return;
    const index = this.#indexOf(memory.bytes, maxBytes, hasExternalAccess);
    if (index >= 0) this.#kept.splice(index, 1);
    this.#kept.push(instance);
    if (this.#kept.length > MAX_KEPT) this.#kept.shift();
  }

  #indexOf(memoryBytes: number, maxBytes: number, hasExternalAccess: boolean): number {
    return this.#kept.findIndex(
      (each) =>
        each.maxBytes === maxBytes &&
        each.hasExternalAccess === hasExternalAccess &&
        each.memory.bytes === memoryBytes,
    );
  }
}
