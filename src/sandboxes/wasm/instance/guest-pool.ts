import type { WasmArtifact } from "../artifact.ts";
import { Guest } from "./guest.ts";

/** The maximum number of components with a spare instance. */
const MAX_SPARES = 4;

/** Components with a larger initial size get no spare instance. */
const MAX_SPARE_BYTES = 16 * 1_024 * 1_024;

/** The maximum number of instances that are kept for their owners' next calls. */
const MAX_KEPT = 8;

/** Idle instances are evicted after this. */
const MAX_IDLE_MS = 60_000;

/** After this many consecutive calls that grew a memory, no image is kept, as the next call probably grows it too. */
const MAX_GROWN = 3;

interface Kept {
  readonly guest: Guest;
  readonly keptAt: number;
}

/** A thread's component instances that are ready for later calls. */
export class GuestPool {
  readonly #spares = new Map<WasmArtifact, Guest>();
  readonly #kept = new Map<string, Kept>();
  /** How many consecutive instances could not be restored because their memory had grown. */
  readonly #grown = new WeakMap<WasmArtifact, number>();

  /** Returns an instance in which nothing has run yet. */
  takeFresh(artifact: WasmArtifact): Guest {
    const spare = this.#spares.get(artifact);
    this.#spares.delete(artifact);
    return spare ?? new Guest(artifact);
  }

  /** Returns the instance that was kept for an owner. */
  takeKept(owner: string): Guest | undefined {
    // The oldest come first. This cannot be a timer, because a thread without work is blocked.
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
   * Prepares an instance for the next call that needs a fresh one; not for components that run more than a little code
   * when they are instantiated, because that code may only run within the deadline of a call.
   *
   * @param used The disposed instance of the last call. It is restored if possible.
   * @returns whether it was restored. If not, it is no longer needed.
   */
  prepareSpare(artifact: WasmArtifact, used: Guest): boolean {
    if (!artifact.startsAtOnce || artifact.initialBytes > MAX_SPARE_BYTES) return false;
    const isRestored = used.instance.restore();
    if (isRestored) this.#grown.delete(artifact);
    const spare = isRestored ? used : this.#makeSpare(artifact, used);
    // If creating a spare failed, the next call creates its own instance and reports the error.
    if (spare === undefined) return false;
    this.#spares.set(artifact, spare);
    for (const oldest of this.#spares.keys()) {
      if (this.#spares.size <= MAX_SPARES) break;
      this.#spares.delete(oldest);
    }
    return isRestored;
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
