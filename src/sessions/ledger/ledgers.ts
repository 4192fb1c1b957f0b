import type { SteadyClock } from "../../base/steady-clock.ts";
import { describeThrown } from "../../base/thrown.ts";
import type { JsonValue } from "../../json/value.ts";
import { newId } from "../ids.ts";
import type { LedgerRecord, LedgerState, LedgerTable } from "../store/store.ts";
import { EntryQueue, Ledger, numbersOf, type StoredEntry } from "./ledger.ts";

/** How many entries all ledgers have at most, as a multiple of those of one. */
const SHARE = 10;

/** Options of {@link Ledgers}. */
export interface LedgersOptions {
  /** Maximum number of entries of a ledger. All ledgers have ten times as many at most. */
  readonly maxEntries: number;
  readonly clock: SteadyClock;
  /** Stores calls beyond the end of this process. Default: they are not stored. */
  readonly table?: LedgerTable | undefined;
}

/** Where a call is made. */
export interface EntryPlace extends Pick<StoredEntry, "sessionId" | "turnId" | "principal"> {
  /** The ledgers of the turn, the session and the principal. */
  readonly ledgers: readonly Ledger[];
}

/** An entry, and the ledgers that have it. */
export interface LedgerEntry extends StoredEntry, EntryPlace {}

/** A session of an earlier process. */
export interface RestoredSession {
  /** In milliseconds since the epoch. */
  readonly openedAt: number;
  readonly ledger: Ledger;
}

/** The ledgers of all sessions. Those of principals are here; turns and sessions have their own. */
export class Ledgers {
  readonly maxEntries: number;
  readonly #clock: SteadyClock;
  readonly #stored: StoredEntries;
  readonly #principals = new Map<string, Ledger>();
  #isShared = false;
  /** Whether a call of a principal was not entered. */
  #isMissing = false;
  /** The `missingUntil` of a principal without a ledger. */
  #missingUntil: number | undefined;
  /** The calls of all ledgers that have ended, in order. */
  readonly #ended = new EntryQueue<LedgerEntry>();

  constructor({ maxEntries, clock, table }: LedgersOptions) {
    this.maxEntries = maxEntries;
    this.#clock = clock;
    this.#stored = new StoredEntries(table);
  }

  /** Returns milliseconds since the epoch, which never go back. */
  now(): number {
    return this.#clock.now();
  }

  /** Records that a call was not entered, because no policy used the history. */
  markMissing(): void {
    if (this.#isMissing) return;
    this.#isMissing = true;
    this.#stored.reset(undefined);
  }

  /** Records that other processes run calls, too, which are not entered here. */
  share(): void {
    this.#isShared = true;
    this.markMissing();
  }

  /** Whether other processes run calls, too. */
  get isShared(): boolean {
    return this.#isShared;
  }

  /** Returns the ledger of a principal. It must be looked up for each call: one that is empty is forgotten. */
  ofPrincipal(id: string): Ledger {
    if (this.#isMissing) this.#enterAgain();
    let ledger = this.#principals.get(id);
    if (ledger === undefined) {
      ledger = new Ledger(this.maxEntries, this.#missingUntil);
      this.#principals.set(id, ledger);
    }
    return ledger;
  }

  #enterAgain(): void {
    this.#isMissing = false;
    const time = this.now();
    this.#missingUntil = time;
    for (const ledger of this.#principals.values()) ledger.markMissingUntil(time);
    this.#stored.reset(time);
  }

  /** Enters a call. Until it ends or is released, it counts in every window. */
  begin(tool: string, input: JsonValue, { sessionId, turnId, principal, ledgers }: EntryPlace): LedgerEntry {
    if (this.#isMissing) this.#enterAgain();
    const entry: LedgerEntry = {
      id: newId(),
      sessionId,
      turnId,
      principal,
      ledgers,
      tool,
      numbers: numbersOf(input),
      isKept: false,
      isApproved: false,
      isDone: false,
      endedAt: undefined,
    };
    for (const ledger of ledgers) ledger.begin(entry);
    return entry;
  }

  /** Stores a call that is about to run. Returns a promise only if there is something to wait for. */
  store(entry: LedgerEntry): Promise<void> | undefined {
    return this.#stored.add(entry);
  }

  /** Enters the arguments of a call that a person changed. */
  revise(entry: LedgerEntry, input: JsonValue): void {
    for (const ledger of entry.ledgers) ledger.remove(entry);
    entry.numbers = numbersOf(input);
    for (const ledger of entry.ledgers) ledger.begin(entry);
  }

  /** Removes a call that did not take effect. */
  release(entry: LedgerEntry): void {
    for (const ledger of entry.ledgers) ledger.remove(entry);
    this.#stored.remove(entry);
    this.#forgetEmpty(entry);
  }

  /** Ends a call, which counts as long as a window reaches back to this moment. */
  end(entry: LedgerEntry, isDone: boolean): void {
    for (const ledger of entry.ledgers) ledger.remove(entry);
    entry.isDone = isDone;
    entry.endedAt = this.now();
    this.#stored.end(entry);
    this.#add(entry);
  }

  #add(entry: LedgerEntry): void {
    for (const ledger of entry.ledgers) ledger.add(entry);
    this.#ended.push(entry);
    if (this.#ended.size <= this.maxEntries * SHARE) return;
    const oldest = this.#ended.at(this.#ended.first);
    this.#ended.dropFirst();
    for (const ledger of oldest.ledgers) ledger.drop(oldest);
    this.#stored.drop(oldest);
    this.#forgetEmpty(oldest);
  }

  /** Forgets the ledger of a principal that has no entries left, but not since when it is complete. */
  #forgetEmpty({ principal }: LedgerEntry): void {
    if (principal === undefined) return;
    const ledger = this.#principals.get(principal);
    if (ledger?.isEmpty !== true) return;
    this.#principals.delete(principal);
    const { missingUntil } = ledger;
    if (missingUntil === undefined) return;
    this.#missingUntil = Math.max(missingUntil, this.#missingUntil ?? missingUntil);
  }

  /**
   * Enters what a store has of earlier processes. A call that was under way may have taken effect until now.
   *
   * @param sessions The sessions that are open, by their ids.
   */
  restore({ entries, missingUntil }: LedgerState, sessions: ReadonlyMap<string, RestoredSession>): void {
    for (const { endedAt = 0 } of entries) this.#clock.atLeast(endedAt);
    if (missingUntil === undefined) this.#enterAgain();
    else if (missingUntil > 0) this.#missingUntil = missingUntil;
    const until = this.#missingUntil;
    for (const { openedAt, ledger } of sessions.values()) {
      if (until !== undefined && openedAt <= until) ledger.markMissingUntil(until);
    }
    for (const { numbers, principal, endedAt, ...record } of entries) {
      const { ledger } = sessions.get(record.sessionId) ?? {};
      const ledgers = ledger === undefined ? [] : [ledger];
      if (principal !== undefined) ledgers.push(this.ofPrincipal(principal));
      const entry: LedgerEntry = {
        ...record,
        principal,
        ledgers,
        numbers: new Map(numbers),
        isKept: true,
        endedAt: endedAt ?? this.now(),
      };
      if (endedAt === undefined) this.#stored.end(entry);
      this.#add(entry);
    }
  }
}

/**
 * The entries in a store. What is written after a call has run can fail: the process is warned, and the call counts in the
 * next process as if it was under way when this one ended.
 */
class StoredEntries {
  readonly #table: LedgerTable | undefined;

  /** @param table `undefined` if calls are not stored. */
  constructor(table: LedgerTable | undefined) {
    this.#table = table;
  }

  /** Adds a call that is about to run. Returns a promise only if there is something to wait for. */
  add(entry: StoredEntry): Promise<void> | undefined {
    if (this.#table === undefined) return undefined;
    entry.isKept = true;
    const added = this.#table.putEntry(recordOf(entry));
    return added instanceof Promise ? added : undefined;
  }

  end(entry: StoredEntry): void {
    if (entry.isKept) this.#write((table) => table.putEntry(recordOf(entry)));
  }

  remove({ id, isKept }: StoredEntry): void {
    if (isKept) this.#write((table) => table.removeEntry(id));
  }

  drop({ id, endedAt = 0 }: StoredEntry): void {
    this.#write((table) => table.dropEntry(id, endedAt));
  }

  reset(missingUntil: number | undefined): void {
    this.#write((table) => table.resetLedger(missingUntil));
  }

  #write(write: (table: LedgerTable) => unknown): void {
    if (this.#table !== undefined) void attempt(write, this.#table);
  }
}

async function attempt(write: (table: LedgerTable) => unknown, table: LedgerTable): Promise<void> {
  try {
    await write(table);
  } catch (thrown) {
    process.emitWarning(`The store of sessions failed: ${describeThrown(thrown).message}`, {
      code: "SANDGATE_SESSION_STORE_FAILED",
    });
  }
}

function recordOf(entry: StoredEntry): LedgerRecord {
  const { id, sessionId, turnId, principal, tool, numbers, isApproved, isDone, endedAt } = entry;
  return {
    id,
    sessionId,
    turnId,
    tool,
    numbers: [...numbers],
    isApproved,
    isDone,
    ...(principal !== undefined && { principal }),
    ...(endedAt !== undefined && { endedAt }),
  };
}

/** The ledger of a turn or a session, which is made when a policy first needs it. */
export class LedgerScope {
  /** Those of all sessions. */
  readonly ledgers: Ledgers;
  #ledger: Ledger | undefined;
  readonly #open: (() => Ledger) | undefined;
  #isMissing = false;

  /** @param open Returns a ledger with earlier calls. Default: there were none. */
  constructor(ledgers: Ledgers, open?: () => Ledger) {
    this.ledgers = ledgers;
    this.#open = open;
  }

  /** Records that a call was not entered, because no policy used the history. */
  markMissing(): void {
    this.#isMissing = true;
  }

  get ledger(): Ledger {
    this.#ledger ??= this.#open?.() ?? new Ledger(this.ledgers.maxEntries);
    if (this.#isMissing) this.#ledger.markMissingUntil(this.ledgers.now());
    this.#isMissing = false;
    return this.#ledger;
  }
}
