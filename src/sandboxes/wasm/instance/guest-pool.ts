import type { WasmArtifact } from "../artifact.ts";
import { Guest } from "./guest.ts";

/** The most components that have a spare instance. */
const MAX_SPARES = 4;

/** A component whose memories are larger than this at the start gets no spare instance. */
const MAX_SPARE_BYTES = 16 * 1_024 * 1_024;

/** Instances that are kept for their owners' next calls. */
const MAX_KEPT = 8;

/** Idle instances are evicted after this. */
const MAX_IDLE_MS = 60_000;

/** After so many calls in a row that let a memory grow, no image is kept for the next one: it grows in each. */
const MAX_GROWN = 3;

interface Kept {
  readonly guest: Guest;
  readonly keptAt: number;
}

/** A thread's component instances that are ready for later calls. */
export class GuestPool {
  readonly #spares = new Map<WasmArtifact, Guest>();
  readonly #kept = new Map<string, Kept>();
  /** How many instances in a row could not be restored, as their memory had grown. */
  readonly #grown = new WeakMap<WasmArtifact, number>();

  /** An instance that nothing ran in yet. */
  takeFresh(artifact: WasmArtifact): Guest {
    const spare = this.#spares.get(artifact);
    this.#spares.delete(artifact);
    return spare ?? new Guest(artifact);
  }

  /** The instance that was kept for an owner. */
  takeKept(owner: string): Guest | undefined {
    // The oldest come first. A thread without work is blocked, so no timer does this.
    for (const [each, { keptAt }] of this.#kept) {
      if (performance.now() - keptAt <= MAX_IDLE_MS) break;
      this.#drop(each);
    }
    const kept = this.#kept.get(owner);
    this.#kept.delete(owner);
    return kept?.guest;
  }

  /** Keeps an instance for the next call of its owner. */
  keep(owner: string, guest: Guest): void {
    this.#kept.set(owner, { guest, keptAt: performance.now() });
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MAX_KEPT) break;
      this.#drop(oldest);
    }
  }

  #drop(owner: string): void {
    this.#kept.get(owner)?.guest[Symbol.dispose]();
    this.#kept.delete(owner);
  }

  /**
   * Makes an instance ready for the next call that needs a fresh one. A component gets none that runs more than a
   * little code of its own as soon as it is instantiated: that may run only within a call and its deadline.
   *
   * @param used The one of the last call, which was disposed of. It is restored if that can be done.
   */
  prepareSpare(artifact: WasmArtifact, used: Guest): void {
    if (!artifact.startsAtOnce || artifact.initialBytes > MAX_SPARE_BYTES) return;
    const isRestored = used.instance.restore();
    if (isRestored) this.#grown.delete(artifact);
    const spare = isRestored ? used : this.#makeSpare(artifact, used);
    // Without one, the next call makes its own, and tells what is wrong.
    if (spare === undefined) return;
    this.#spares.set(artifact, spare);
    for (const oldest of this.#spares.keys()) {
      if (this.#spares.size <= MAX_SPARES) break;
      this.#spares.delete(oldest);
    }
  }

  #makeSpare(artifact: WasmArtifact, used: Guest): Guest | undefined {
    const grown = (this.#grown.get(artifact) ?? 0) + (used.instance.isPastRestoring ? 1 : 0);
    this.#grown.set(artifact, grown);
    const guest = new Guest(artifact);
    try {
      guest.instance.make();
      if (artifact.isRestorable && grown < MAX_GROWN) guest.instance.keepImage();
      return guest;
    } catch {
      return undefined;
    }
  }
}
