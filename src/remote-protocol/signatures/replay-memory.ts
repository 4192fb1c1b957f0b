/** Maximum number of nonces, of about 100 bytes each. */
const CAPACITY = 200_000;

/** Remembers the nonces of signatures until they expire, to accept each signature only once. */
export class ReplayMemory {
  readonly #capacity: number;
  /** Nonces by the second after which they are deleted. */
  readonly #bySecond = new Map<number, Set<string>>();
  #size = 0;
  #purgedAt = 0;

  /** @param capacity Maximum number of nonces. Default: 200,000. */
  constructor(capacity: number = CAPACITY) {
    this.#capacity = capacity;
  }

  /**
   * Records a nonce.
   *
   * @param until Second since the epoch until which the signature could be accepted. It must be the same each
   *   time the same signature is used.
   * @param now Seconds since the epoch.
   * @returns `full` if there is no capacity. The request must then be refused, since replays of it could not
   *   be recognised.
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
