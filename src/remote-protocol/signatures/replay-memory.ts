/** How many nonces are remembered at once: some 100 bytes each. */
const CAPACITY = 200_000;

/** Remembers the nonces of signatures until these are over, so that each is taken only once. */
export class ReplayMemory {
  readonly #capacity: number;
  /** By the second after which they are forgotten. */
  readonly #bySecond = new Map<number, Set<string>>();
  #size = 0;
  #purgedAt = 0;

  /** @param capacity The most nonces. Default: 200,000. */
  constructor(capacity: number = CAPACITY) {
    this.#capacity = capacity;
  }

  /**
   * Takes a nonce.
   *
   * @param until The second since the epoch up to which a signature with it could be taken; the same for the same
   *   signature.
   * @param now Seconds since the epoch.
   * @returns `full` when there is no room: who cannot be told from a replay must come again.
   */
  take(keyId: string, nonce: string, until: number, now: number): "fresh" | "seen" | "full" {
    this.#purge(now);
    const name = `${keyId}"${nonce}`;
    let nonces = this.#bySecond.get(until);
    if (nonces?.has(name)) return "seen";
    if (this.#size >= this.#capacity) return "full";
    if (nonces === undefined) {
      nonces = new Set();
      this.#bySecond.set(until, nonces);
    }
    nonces.add(name);
    this.#size++;
    return "fresh";
  }

  #purge(now: number): void {
    if (now <= this.#purgedAt) return;
    this.#purgedAt = now;
    for (const [until, nonces] of this.#bySecond) {
      if (until >= now) continue;
      this.#size -= nonces.size;
      this.#bySecond.delete(until);
    }
  }
}
