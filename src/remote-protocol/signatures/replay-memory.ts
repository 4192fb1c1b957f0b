import { FairBudget } from "../../base/fair-budget.ts";

/** Maximum number of nonces, of about 100 bytes each. */
const CAPACITY = 200_000;

/** Remembers the nonces of signatures until they expire, to accept each signature only once. */
export class ReplayMemory {
  /** Shared between the keys. */
  readonly #budget: FairBudget;
  /** Nonces by the second after which they are deleted, and by key. */
  readonly #bySecond = new Map<number, Map<string, Set<string>>>();
  #purgedAt = 0;

  /**
   * @param keys The number of keys. Each has an equal part of the capacity even if others hold all of it, so up to
   *   twice the capacity may be used.
   * @param capacity Maximum number of nonces. Default: 200,000.
   */
  constructor(keys: number, capacity: number = CAPACITY) {
    this.#budget = new FairBudget(capacity, Math.floor(capacity / Math.max(keys, 1)));
  }

  /**
   * Records a nonce.
   *
   * @param until Second since the epoch until which the signature could be accepted. It must be the same each
   *   time the same signature is used.
   * @param now Seconds since the epoch.
   * @returns `full` if there is no capacity for this key. The request must then be refused, since replays of it could not
   *   be recognised.
   */
  take(keyId: string, nonce: string, until: number, now: number): "fresh" | "seen" | "full" {
    this.#purge(now);
    let keys = this.#bySecond.get(until);
    let nonces = keys?.get(keyId);
    if (nonces?.has(nonce)) return "seen";
    if (!this.#budget.take(keyId, 1)) return "full";
    if (keys === undefined) {
      keys = new Map();
      this.#bySecond.set(until, keys);
    }
    if (nonces === undefined) {
      nonces = new Set();
      keys.set(keyId, nonces);
    }
    nonces.add(nonce);
    return "fresh";
  }

  #purge(now: number): void {
    if (now <= this.#purgedAt) return;
    this.#purgedAt = now;
    for (const [until, keys] of this.#bySecond) {
      if (until >= now) continue;
      for (const [keyId, nonces] of keys) this.#budget.giveBack(keyId, nonces.size);
      this.#bySecond.delete(until);
    }
  }
}
