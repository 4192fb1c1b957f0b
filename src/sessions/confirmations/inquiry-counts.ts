/** How many inquiries can be open. */
export interface InquiryBounds {
  /** For each principal; sessions without one share a count. Default: 32. */
  readonly perPrincipal: number;
  /** Default: 1,000. */
  readonly total: number;
}

interface Waiting {
  readonly principal: string | undefined;
  readonly go: (hasRoom: boolean) => void;
}

/** Counts open inquiries. */
export class InquiryCounts {
  readonly #bounds: InquiryBounds;
  readonly #byPrincipal = new Map<string | undefined, number>();
  #total = 0;
  /** Those who wait for room, in the order in which they came. */
  readonly #waiting = new Set<Waiting>();

  constructor(bounds: InquiryBounds) {
    this.#bounds = bounds;
  }

  /** Whether another inquiry of a principal can be open. */
  hasRoom(principal: string | undefined): boolean {
    const { perPrincipal, total } = this.#bounds;
    return this.#total < total && (this.#byPrincipal.get(principal) ?? 0) < perPrincipal;
  }

  add(principal: string | undefined): void {
    this.#total++;
    this.#byPrincipal.set(principal, (this.#byPrincipal.get(principal) ?? 0) + 1);
  }

  delete(principal: string | undefined): void {
    this.#total--;
    const left = (this.#byPrincipal.get(principal) ?? 0) - 1;
    if (left > 0) this.#byPrincipal.set(principal, left);
    else this.#byPrincipal.delete(principal);
    for (const waiting of this.#waiting) {
      if (!this.hasRoom(waiting.principal)) continue;
      this.#waiting.delete(waiting);
      // What it opens counts from now on, so that no other one gets its room.
      this.add(waiting.principal);
      waiting.go(true);
      return;
    }
  }

  /**
   * Takes room for an inquiry of a principal as soon as there is some. Returns `false` if the signal was aborted first.
   */
  awaitRoom(principal: string | undefined, signal: AbortSignal | undefined): Promise<boolean> {
    if (signal?.aborted) return Promise.resolve(false);
    if (this.hasRoom(principal)) {
      this.add(principal);
      return Promise.resolve(true);
    }
    return new Promise((resolve) => {
      const leave = (): void => {
        this.#waiting.delete(waiting);
        resolve(false);
      };
      const go = (hasRoom: boolean): void => {
        signal?.removeEventListener("abort", leave);
        resolve(hasRoom);
      };
      const waiting: Waiting = { principal, go };
      this.#waiting.add(waiting);
      signal?.addEventListener("abort", leave, { once: true });
    });
  }
}
