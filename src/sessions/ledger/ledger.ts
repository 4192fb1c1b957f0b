import { escapePointer } from "../../json/pointer.ts";
import { isJsonObject, type JsonValue } from "../../json/value.ts";
import {
  amountOf,
  type LedgerQuery,
  type LedgerTally,
  MAX_AMOUNT_POINTER,
} from "../../policy/call-history.ts";

/** A call, as ledgers know it. It counts from the moment in which the policy is asked about it. */
export interface Entry {
  readonly turnId: string;
  readonly tool: string;
  /** Its arguments that are numbers, by their pointers. Replaced if a person changes the arguments. */
  numbers: ReadonlyMap<string, number>;
  /** Whether a person confirmed the call. */
  isApproved: boolean;
  /** Whether it ended with success. */
  isDone: boolean;
  /** In milliseconds since the epoch; `undefined` while it is under way. */
  endedAt: number | undefined;
}

/** An entry, with what it takes to store it. */
export interface StoredEntry extends Entry {
  readonly id: string;
  readonly sessionId: string;
  /** The id of the principal; `undefined` if the session has none. */
  readonly principal: string | undefined;
  /** Whether the store has it. */
  isKept: boolean;
}

/**
 * Maximum number of queries whose results a ledger caches. A policy has far fewer; a query that was dropped
 * is counted anew.
 */
const MAX_QUERIES = 1_000;

/**
 * The calls of a turn, of a session or of a principal. Calls that are under way count in every window, and from their end
 * on they count in those that reach back to it. At most so many that have ended are stored; the oldest are forgotten, and
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

  /** Records that entries may be missing up to a time. */
  markMissingUntil(time: number): void {
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
    this.markMissingUntil(entry.endedAt as number);
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

/**
 * What one query counts, while its window moves on: each entry is added once and taken away once, so that the cost of a
 * query does not depend on how many there are.
 */
class Window {
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

/** Entries in the order in which they were added, each at a place that never changes. The first can be dropped. */
export class EntryQueue<Entry extends object> {
  #entries: Entry[] = [];
  /** The place of the first element of the array. */
  #offset = 0;
  /** The place of the first entry. */
  #first = 0;

  get first(): number {
    return this.#first;
  }

  /** The place of the next entry to be added. */
  get end(): number {
    return this.#offset + this.#entries.length;
  }

  get size(): number {
    return this.end - this.#first;
  }

  /** Returns the entry at a place from `first` to before `end`. */
  at(place: number): Entry {
    return this.#entries[place - this.#offset] as Entry;
  }

  push(entry: Entry): void {
    this.#entries.push(entry);
  }

  dropFirst(): void {
    this.#first++;
    // Each entry is moved at most once for each that was dropped.
    if (this.#first - this.#offset < this.#entries.length / 2) return;
    this.#entries = this.#entries.slice(this.#first - this.#offset);
    this.#offset = this.#first;
  }
}

/** How many numbers of a call are stored, and how many values are looked at to find them. */
const MAX_NUMBERS = 16;
const MAX_VALUES = 256;
const NONE: ReadonlyMap<string, number> = new Map();

/**
 * Returns the numbers among the arguments of a call by their pointers (RFC 6901), those closest to the root first. What
 * is left out of a large input counts as unknown, so that no sum is decided without it.
 */
export function numbersOf(input: JsonValue): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  const values: (readonly [pointer: string, value: JsonValue])[] = [["", input]];
  for (const [pointer, value] of values) {
    if (found.size === MAX_NUMBERS) break;
    if (typeof value === "number") found.set(pointer, value);
    else addMembers(values, pointer, value);
  }
  return found.size === 0 ? NONE : found;
}

function addMembers(values: (readonly [string, JsonValue])[], base: string, value: JsonValue): void {
  if (Array.isArray(value)) {
    const items: readonly JsonValue[] = value;
    for (let index = 0; index < items.length && values.length < MAX_VALUES; index++) {
      addMember(values, `${base}/${index}`, items[index]);
    }
  } else if (isJsonObject(value)) {
    for (const name of Object.keys(value)) {
      if (values.length >= MAX_VALUES) return;
      addMember(values, `${base}/${escapePointer(name)}`, value[name]);
    }
  }
}

function addMember(
  values: (readonly [string, JsonValue])[],
  pointer: string,
  value: JsonValue | undefined,
): void {
  const isRelevant = typeof value === "number" || (typeof value === "object" && value !== null);
  if (isRelevant && pointer.length <= MAX_AMOUNT_POINTER) values.push([pointer, value]);
}
