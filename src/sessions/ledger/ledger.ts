import type { LedgerQuery, LedgerTally } from "../../policy/history/call-ledger.ts";
import type { Entry } from "./entry.ts";
import { EntryQueue } from "./entry-queue.ts";
import { Window } from "./window.ts";

/** The most queries of which a ledger keeps the results. A policy asks far fewer; one that was forgotten is counted anew. */
const MAX_QUERIES = 1_000;

/**
 * The calls of a turn, of a session or of a principal. Calls that are under way count in every window, and from their end
 * on they count in those that reach back to it. At most so many that have ended are kept; the oldest are forgotten, and
 * windows that reach back to them are incomplete.
 */
export class Ledger {
  readonly #maxEntries: number;
  readonly #underWay = new Set<Entry>();
  readonly #ended = new EntryQueue<Entry>();
  readonly #windows = new Map<string, Window>();
  /** The time up to which entries may be missing; `undefined` if none is. */
  #missingUntil: number | undefined;

  /** @param missingUntil The time up to which entries may be missing. Default: none is. */
  constructor(maxEntries: number, missingUntil?: number) {
    this.#maxEntries = maxEntries;
    this.#missingUntil = missingUntil;
  }

  get isEmpty(): boolean {
    return this.#underWay.size === 0 && this.#ended.size === 0;
  }

  get missingUntil(): number | undefined {
    return this.#missingUntil;
  }

  /** Says that entries may be missing up to a time. */
  missUntil(time: number): void {
    this.#missingUntil = Math.max(time, this.#missingUntil ?? time);
  }

  begin(entry: Entry): void {
    this.#underWay.add(entry);
    for (const window of this.#windows.values()) window.add(entry);
  }

  /** Takes away a call that is under way, because it did not take effect, or before it changes. */
  remove(entry: Entry): void {
    if (!this.#underWay.delete(entry)) return;
    for (const window of this.#windows.values()) window.remove(entry);
  }

  /** Adds a call that has ended, not before any other. */
  add(entry: Entry): void {
    this.#ended.push(entry);
    if (this.#ended.size > this.#maxEntries) this.#dropFirst();
  }

  /** Forgets the oldest call if it is this one. */
  drop(entry: Entry): void {
    if (this.#ended.size > 0 && this.#ended.at(this.#ended.first) === entry) this.#dropFirst();
  }

  #dropFirst(): void {
    const { first } = this.#ended;
    const entry = this.#ended.at(first);
    for (const window of this.#windows.values()) window.drop(entry, first);
    this.#ended.dropFirst();
    this.missUntil(entry.endedAt as number);
  }

  /** Returns a ledger that has only some of the calls which have ended. */
  select(matches: (entry: Entry) => boolean): Ledger {
    const selected = new Ledger(this.#maxEntries, this.#missingUntil);
    for (let place = this.#ended.first; place < this.#ended.end; place++) {
      const entry = this.#ended.at(place);
      if (matches(entry)) selected.#ended.push(entry);
    }
    return selected;
  }

  /** @param own The call that is decided on, which does not count; `undefined` if it is not in the ledger. */
  tally(query: LedgerQuery, now: number, own: Entry | undefined): LedgerTally {
    let window = this.#windows.get(query.key);
    window ??= this.#open(query);
    const start = now - query.withinMs;
    window.moveTo(start, this.#ended);
    const isComplete = this.#missingUntil === undefined || start >= this.#missingUntil;
    return window.tally(own !== undefined && this.#underWay.has(own) ? own : undefined, isComplete);
  }

  #open(query: LedgerQuery): Window {
    const [oldest] = this.#windows.keys();
    if (oldest !== undefined && this.#windows.size >= MAX_QUERIES) this.#windows.delete(oldest);
    const window = new Window(query, this.#ended.first);
    for (const entry of this.#underWay) window.add(entry);
    this.#windows.set(query.key, window);
    return window;
  }
}
