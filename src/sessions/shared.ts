import type { SteadyClock } from "../base/steady-clock.ts";
import { Redaction } from "../redaction/redaction.ts";
import { Approvals } from "./approvals.ts";
import type { ConfirmationBroker } from "./confirmations/confirmation-broker.ts";
import { LocalConfirmations } from "./confirmations/local-confirmations.ts";
import type { DurableRuntime } from "./durable-runtime.ts";
import { Ledgers } from "./ledger/ledgers.ts";
import type { ModeChange } from "./modes/current-mode.ts";
import type { Settings } from "./options.ts";
import type { ChangeEvent, SessionChangesOptions } from "./session-changes.ts";
import { GuardedStore } from "./store/guarded-store.ts";
import { MemorySessionStore } from "./store/memory-store.ts";
import type { SessionStore } from "./store/store.ts";

/** Those who are notified of one kind of events. Errors that they throw are ignored. */
export class Listeners<Event extends object> {
  readonly #listeners = new Set<(event: Event) => void>();

  /** Adds a listener. Returns a function that removes it. */
  on(listener: (event: Event) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Notifies the current listeners, with the event frozen. */
  notify(event: Event): void {
    Object.freeze(event);
    for (const listener of [...this.#listeners]) {
      try {
        listener(event);
      } catch {
        // A listener must not affect the session.
      }
    }
  }
}

/** What all sessions share. */
export interface Shared {
  readonly settings: Settings;
  readonly redaction: Redaction;
  /** Stores sessions, confirmations and approvals. */
  readonly table: GuardedStore;
  /** The same store if it also stores calls. */
  readonly store: GuardedStore | undefined;
  /** Runs the calls; `undefined` if they run in this process. */
  readonly durable: DurableRuntime | undefined;
  readonly confirmations: ConfirmationBroker;
  readonly approvals: Approvals;
  readonly ledgers: Ledgers;
  readonly modeListeners: Listeners<ModeChange>;
  readonly changeListeners: Listeners<ChangeEvent>;
  /** Counts the staged changes of all sessions. */
  readonly stagedQuota: SessionChangesOptions["shared"];
  /** Whether the sessions are being closed, so that calls that wait continue in the next process. */
  readonly isSuspended: boolean;
  readonly idleTurn: IdleTurn;
  /** Called when the last running call of a session has ended, or waits for a person. */
  readonly onIdle: () => void;
  /** Removes a session that is closed. */
  remove(session: {
    readonly id: string;
    readonly principal: { readonly id: string } | undefined;
  }): Promise<void>;
}

/** Called with what happens to sessions. Must not throw. */
export interface SessionsObserver {
  /** The last running call of a session has ended, or waits for a person. */
  onIdle(): void;
  /** A session was closed, by a client or by the embedder. */
  onClosed(sessionId: string): void;
}

/** Returns what the sessions of this process share, without a durable runtime. */
export function sharedInProcess(
  settings: Settings,
  store: SessionStore | undefined,
  clock: SteadyClock,
  { onIdle, remove }: Pick<Shared, "onIdle" | "remove">,
): Shared & { isSuspended: boolean } {
  const table = new GuardedStore(store ?? new MemorySessionStore());
  const { timeoutMs } = settings;
  return {
    settings,
    table,
    store: store && table,
    durable: undefined,
    isSuspended: false,
    redaction: settings.context.redaction ?? new Redaction(),
    confirmations: new LocalConfirmations({ store: table, timeoutMs, clock }),
    approvals: new Approvals(table, () => clock.now()),
    modeListeners: new Listeners(),
    changeListeners: new Listeners(),
    stagedQuota: { quota: undefined },
    idleTurn: new IdleTurn(),
    ledgers: new Ledgers({ maxEntries: settings.ledgerEntries, clock, table: store?.ledger }),
    onIdle,
    remove,
  };
}

/**
 * Returns what the sessions of a durable runtime share, beside those that only this process has.
 *
 * @param now Returns milliseconds since the epoch.
 */
export function sharedWithRuntime(
  durable: DurableRuntime,
  own: Shared & { isSuspended: boolean },
  now: () => number,
): Shared & { isSuspended: boolean } {
  const table = new GuardedStore(durable.store);
  return {
    ...own,
    table,
    store: table,
    durable,
    confirmations: durable.openConfirmations({ timeoutMs: own.settings.timeoutMs }),
    approvals: new Approvals(table, now, { isShared: true }),
  };
}

/** A turn with no call under way. */
interface Idle {
  /** Gives up what only calls under way need. */
  releaseSignal(): void;
}

/**
 * The turn whose last call ended most recently. It is likely to make the next call too, and creating an abort signal takes
 * as long as a fifth of a call, so that only the turns before it give up theirs.
 */
export class IdleTurn {
  #turn: Idle | undefined;

  add(turn: Idle): void {
    if (turn === this.#turn) return;
    this.#turn?.releaseSignal();
    this.#turn = turn;
  }
}
