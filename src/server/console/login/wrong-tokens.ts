import { LruMap } from "../../../base/lru-map.ts";

const MAX_WRONG = 20;
const WINDOW_MS = 60_000;
const MAX_ADDRESSES = 1_000;

/** Counts the wrong tokens of each address, of the latest 1,000. */
export class WrongTokens {
  readonly #counts = new LruMap<string, { count: number; readonly since: number }>(MAX_ADDRESSES);

  /** Whether an address has sent 20 wrong tokens within a minute. */
  isTooMany(address: string): boolean {
    return (this.#of(address)?.count ?? 0) >= MAX_WRONG;
  }

  add(address: string): void {
    const counted = this.#of(address);
    if (counted === undefined) this.#counts.set(address, { count: 1, since: Date.now() });
    else counted.count++;
  }

  #of(address: string) {
    const counted = this.#counts.get(address);
    return counted !== undefined && Date.now() - counted.since < WINDOW_MS ? counted : undefined;
  }
}
