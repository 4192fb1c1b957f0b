import { amountOf } from "../../policy/history/amount.ts";
import type { LedgerQuery, LedgerTally } from "../../policy/history/call-ledger.ts";
import type { Entry } from "./entry.ts";
import type { EntryQueue } from "./entry-queue.ts";

/**
 * What one query counts, while its window moves on: each entry is added once and taken away once, so that the cost of a
 * query does not depend on how many there are.
 */
export class Window {
  readonly #query: LedgerQuery;
  /** The places of the first entry in the window and of the next one to be added. */
  #from: number;
  #to: number;
  #count = 0;
  #sum = 0n;
  /** How many of the calls have no amount that can be added. */
  #unknown = 0;

  /** @param first The place of the first entry of the queue. */
  constructor(query: LedgerQuery, first: number) {
    this.#query = query;
    this.#from = first;
    this.#to = first;
  }

  /** Moves the window on: entries that ended at `start` or before are no longer in it. */
  moveTo(start: number, entries: EntryQueue<Entry>): void {
    while (this.#to < entries.end) this.add(entries.at(this.#to++));
    while (this.#from < this.#to) {
      const entry = entries.at(this.#from);
      if ((entry.endedAt as number) > start) break;
      this.remove(entry);
      this.#from++;
    }
  }

  /** Takes away the first entry of the queue, which is about to be dropped. */
  drop(entry: Entry, place: number): void {
    if (this.#from > place) return;
    if (this.#to > place) this.remove(entry);
    this.#from = place + 1;
    this.#to = Math.max(this.#to, place + 1);
  }

  add(entry: Entry): void {
    this.#change(entry, 1);
  }

  remove(entry: Entry): void {
    this.#change(entry, -1);
  }

  /** @param own The call that is decided on, which does not count. It is under way. */
  tally(own: Entry | undefined, isComplete: boolean): LedgerTally {
    if (own !== undefined) this.remove(own);
    const tally = { count: this.#count, sum: this.#sum, isComplete: isComplete && this.#unknown === 0 };
    if (own !== undefined) this.add(own);
    return tally;
  }

  #change(entry: Entry, by: 1 | -1): void {
    const { matchesTool, only, amount } = this.#query;
    if ((only !== undefined && !entry.isDone) || (only === "approved" && !entry.isApproved)) return;
    if (!matchesTool(entry.tool)) return;
    this.#count += by;
    if (amount === undefined) return;
    const value = amountOf(entry.numbers.get(amount));
    if (value === undefined) this.#unknown += by;
    else this.#sum += by === 1 ? value : -value;
  }
}
