/** How many inquiries can be open. */
export interface InquiryBounds {
  /** For each principal; sessions without one share a count. Default: 32. */
  readonly perPrincipal: number;
  /** Default: 1,000. */
  readonly total: number;
}

/** Counts open inquiries. */
export class InquiryCounts {
  readonly #bounds: InquiryBounds;
  readonly #byPrincipal = new Map<string | undefined, number>();
  #total = 0;

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
  }
}
