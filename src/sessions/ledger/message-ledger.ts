import type { DispatchedRecord, EndedRecord } from "../../engine/call/journal.ts";
import type { ErrorCode } from "../../engine/errors.ts";
import type { JsonValue } from "../../json/value.ts";
import type { CallLedger, LedgerQuery, LedgerTally } from "../../policy/call-history.ts";
import type { PolicyRequest } from "../../policy/policy.ts";
import { changesNothing } from "../../tool/side-effects.ts";
import type { Ledger } from "./ledger.ts";
import type { LedgerEntry, LedgerScope, Ledgers } from "./ledgers.ts";

/** Where the calls of a message are entered. */
export interface LedgerPlace {
  readonly sessionId: string;
  readonly turnId: string;
  readonly turn: LedgerScope;
  readonly session: LedgerScope;
  /** The id of the principal; `undefined` if the session has none. */
  readonly principal: string | undefined;
  /** Whether other processes run calls of the session, too. */
  readonly isShared: boolean;
}

const UNKNOWN: LedgerTally = Object.freeze({ count: 0, sum: 0n, isComplete: false });

/** Errors that, together with the effect `none`, mean that the call never ran. */
const NEVER_RAN: ReadonlySet<ErrorCode | undefined> = new Set<ErrorCode>([
  "cancelled",
  "limit_unenforceable",
  "sandbox_unavailable",
]);

/** Enters the calls of one message, and those that their tools make, when the policy is consulted about them. */
export class MessageLedger {
  readonly #place: LedgerPlace;
  readonly #ledgers: Ledgers;
  /** The calls in progress, by their ids, which are unique: see `messageCalls`. */
  readonly #calls = new Map<string, LedgerEntry>();
  /** The ids of running calls whose tools change nothing. */
  readonly #reading = new Set<string>();

  constructor(place: LedgerPlace) {
    this.#place = place;
    this.#ledgers = place.session.ledgers;
  }

  /**
   * Enters a call before the policy decides on it, so that calls that are decided on at once count for each
   * other. If the policy is consulted again, because a person confirmed the call or its tool changed, the
   * call has already been entered.
   *
   * @returns the ledger for the decision.
   */
  begin({ callId, tool, input }: PolicyRequest): CallLedger {
    let entry = this.#calls.get(callId);
    if (entry !== undefined) this.#ledgers.revise(entry, input);
    else {
      entry = this.#enter(tool.name, input);
      this.#calls.set(callId, entry);
    }
    return this.#viewFor(entry);
  }

  /** Returns the ledger for a decision on other arguments of a call that was entered. */
  without(callId: string): CallLedger {
    return this.#viewFor(this.#calls.get(callId));
  }

  /** Stores a call that is about to run. Returns a promise only if there is something to wait for. */
  record({ callId, sideEffects, confirmation }: DispatchedRecord): Promise<void> | undefined {
    if (changesNothing(sideEffects)) this.#reading.add(callId);
    const entry = this.#calls.get(callId);
    if (entry === undefined) return undefined;
    entry.isApproved = confirmation !== undefined;
    return this.#ledgers.store(entry);
  }

  /** Enters the outcome of a call that began. */
  recordEnd({ callId, code, success, effect }: EndedRecord): void {
    // The effect of a call that only reads says nothing: it may have read something before it failed.
    const isReading = this.#reading.delete(callId);
    if (effect === "none" && (!isReading || NEVER_RAN.has(code))) this.release(callId);
    else this.end(callId, success);
  }

  /** Removes a call that did not take effect. */
  release(callId: string): void {
    this.#reading.delete(callId);
    const entry = this.#take(callId);
    if (entry !== undefined) this.#ledgers.release(entry);
  }

  /** Ends a call that took effect, or may have. */
  end(callId: string, isDone: boolean): void {
    const entry = this.#take(callId);
    if (entry !== undefined) this.#ledgers.end(entry, isDone);
  }

  #take(callId: string): LedgerEntry | undefined {
    const entry = this.#calls.get(callId);
    this.#calls.delete(callId);
    return entry;
  }

  #enter(tool: string, input: JsonValue): LedgerEntry {
    const { sessionId, turnId, turn, session, principal } = this.#place;
    const ledgers = [turn.ledger, session.ledger];
    if (principal !== undefined) ledgers.push(this.#ledgers.ofPrincipal(principal));
    return this.#ledgers.begin(tool, input, { sessionId, turnId, principal, ledgers });
  }

  #viewFor(own: LedgerEntry | undefined): CallLedger {
    return {
      tally: (query) => {
        const ledger = this.#ledgerFor(query);
        const known = ledger?.tally(query, this.#ledgers.now(), own) ?? UNKNOWN;
        return this.#hasUnknown(query) ? { ...known, isComplete: false } : known;
      },
    };
  }

  /** Whether other processes may have made calls that count. */
  #hasUnknown({ scope }: LedgerQuery): boolean {
    return scope === "principal" ? this.#ledgers.isShared : this.#place.isShared;
  }

  #ledgerFor({ scope }: LedgerQuery): Ledger | undefined {
    const { turn, session, principal } = this.#place;
    if (scope === "turn") return turn.ledger;
    if (scope === "session") return session.ledger;
    return principal === undefined ? undefined : this.#ledgers.ofPrincipal(principal);
  }
}
