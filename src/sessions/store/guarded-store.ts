import type { MaybePromise } from "../../base/promises.ts";
import { describeThrown } from "../../base/thrown.ts";
import type { ToolExecution } from "../../engine/call/execution.ts";
import type { CallIdentity } from "../../record/identity.ts";
import type { Approval, StoredApproval } from "../approvals.ts";
import type { Confirmation, ConfirmationRecord, Resolution } from "../confirmations/confirmation.ts";
import { SessionStoreError, TooManySessionsError } from "../session-errors.ts";
import { LateEnds } from "./late-ends.ts";
import type {
  Claim,
  LedgerTable,
  MessageCallRecord,
  MessageRecord,
  SessionRecord,
  SessionStore,
} from "./store.ts";

/** Milliseconds between two warnings: a store that fails again and again must not flood the log of an operator. */
const PAUSE_MS = 60_000;

/** Warns operators of a store that fails, with a warning of the process, at most once a minute. */
class StoreWarnings {
  #warnedAt = Number.NEGATIVE_INFINITY;
  #left = 0;

  /** Warns now, or counts the warning in the next one. */
  warn(message: string): void {
    const now = performance.now();
    if (now - this.#warnedAt < PAUSE_MS) {
      this.#left++;
      return;
    }
    const more = this.#left === 0 ? "" : ` (${this.#left} further warnings in between)`;
    this.#warnedAt = now;
    this.#left = 0;
    emit(`${message}${more}`);
  }

  /** Warns in any case. */
  warnLast(message: string): void {
    emit(message);
  }
}

/**
 * A store as the sessions see it. Whatever it throws is a `SessionStoreError`. The ends of calls that it fails to write
 * are written later; until then no call begins, no message is accepted, and no answer allows a call.
 */
export class GuardedStore implements SessionStore {
  readonly #store: SessionStore;
  readonly #ends: LateEnds;
  readonly #warnings = new StoreWarnings();

  constructor(store: SessionStore) {
    this.#store = store;
    this.#ends = new LateEnds((identity, execution) => store.end(identity, execution), {
      onFailure: (reason) =>
        this.#warnings.warn(`The store of sessions cannot be written, so no call runs: ${reason}`),
      onRecovery: (lost) =>
        this.#warnings.warn(
          `The store of sessions can be written again${lost > 0 ? `; the ends of ${lost} calls were lost` : ""}`,
        ),
    });
  }

  /** Why it cannot write now; `undefined` if it can. */
  get problem(): string | undefined {
    return this.#ends.problem ?? this.#store.problem;
  }

  get isOrdered(): boolean {
    return this.#store.isOrdered === true;
  }

  get ledger(): LedgerTable | undefined {
    return this.#store.ledger;
  }

  addSession(session: SessionRecord): MaybePromise<boolean> {
    return this.#typed(() => this.#store.addSession(session));
  }

  setMode(sessionId: string, mode: string): MaybePromise<void> {
    return this.#typed(() => this.#store.setMode(sessionId, mode));
  }

  removeSession(sessionId: string): MaybePromise<void> {
    return this.#typed(() => this.#store.removeSession(sessionId));
  }

  sessions(): MaybePromise<readonly SessionRecord[]> {
    return this.#typed(() => this.#store.sessions());
  }

  addMessage(message: MessageRecord): MaybePromise<MessageRecord | undefined> {
    this.#requireEnds();
    return this.#typed(() => this.#store.addMessage(message));
  }

  messages(sessionId: string, turnId: string): MaybePromise<readonly MessageRecord[]> {
    return this.#typed(() => this.#store.messages(sessionId, turnId));
  }

  turnIds(sessionId: string): MaybePromise<readonly string[]> {
    return this.#typed(() => this.#store.turnIds(sessionId));
  }

  unfinishedMessages(): MaybePromise<readonly MessageRecord[]> {
    return this.#typed(() => this.#store.unfinishedMessages());
  }

  /** Never rejects: a turn that could not be removed is removed after a restart. */
  async removeTurn(sessionId: string, turnId: string): Promise<void> {
    try {
      await this.#store.removeTurn(sessionId, turnId);
    } catch (thrown) {
      this.#warnings.warn(`The store of sessions failed: ${describeThrown(thrown).message}`);
    }
  }

  isForgotten(sessionId: string, turnId: string): MaybePromise<boolean> {
    return this.#typed(() => this.#store.isForgotten(sessionId, turnId));
  }

  count(identity: CallIdentity, toolName: string): MaybePromise<boolean> {
    return this.#typed(() => this.#store.count(identity, toolName));
  }

  isCounted(identity: CallIdentity): MaybePromise<boolean> {
    return this.#typed(() => this.#store.isCounted(identity));
  }

  counts(sessionId: string): MaybePromise<ReadonlyMap<string, number>> {
    return this.#typed(() => this.#store.counts(sessionId));
  }

  claim(identity: CallIdentity): MaybePromise<Claim> {
    this.#requireEnds();
    return this.#typed(() => this.#store.claim(identity));
  }

  /** Never throws or rejects: what cannot be written now is written later. */
  end(identity: CallIdentity, execution: ToolExecution): MaybePromise<void> {
    return this.#ends.end(identity, execution);
  }

  calls(sessionId: string, turnId: string, messageId: string): MaybePromise<readonly MessageCallRecord[]> {
    const known = this.#typed(() => this.#store.calls(sessionId, turnId, messageId));
    if (this.#ends.problem === undefined) return known;
    const withEnds = (calls: readonly MessageCallRecord[]): readonly MessageCallRecord[] =>
      calls.map((call): MessageCallRecord => {
        const execution = this.#ends.find(sessionId, turnId, messageId, call.callId);
        if (execution === undefined || call.state === "ended") return call;
        return { callId: call.callId, state: "ended", execution };
      });
    return known instanceof Promise ? known.then(withEnds) : withEnds(known);
  }

  addConfirmation(confirmation: Confirmation): MaybePromise<ConfirmationRecord | undefined> {
    return this.#typed(() => this.#store.addConfirmation(confirmation));
  }

  resolveConfirmation(id: string, resolution: Resolution): MaybePromise<Resolution | undefined> {
    // An answer must not be used up for a call that cannot begin.
    if (resolution.decision === "allow") this.#requireEnds();
    return this.#typed(() => this.#store.resolveConfirmation(id, resolution));
  }

  confirmation(id: string): MaybePromise<ConfirmationRecord | undefined> {
    return this.#typed(() => this.#store.confirmation(id));
  }

  pendingConfirmations(): MaybePromise<readonly ConfirmationRecord[]> {
    return this.#typed(() => this.#store.pendingConfirmations());
  }

  addApproval(approval: Approval): MaybePromise<boolean> {
    return this.#typed(() => this.#store.addApproval(approval));
  }

  approvals(): MaybePromise<readonly StoredApproval[]> {
    return this.#typed(() => this.#store.approvals());
  }

  useApproval(id: string): MaybePromise<boolean> {
    return this.#typed(() => this.#store.useApproval(id));
  }

  removeApproval(id: string): MaybePromise<boolean> {
    return this.#typed(() => this.#store.removeApproval(id));
  }

  /** Tries once more to write the ends that wait, and warns of those that are lost. */
  async close(): Promise<void> {
    const lost = await this.#ends.close();
    if (lost > 0) {
      this.#warnings.warnLast(
        `The store of sessions was closed without the ends of ${lost} calls: after a restart, they are unknown`,
      );
    }
    await this.#store.close();
  }

  /** @throws {SessionStoreError} whatever the action throws; also as a rejection. */
  #typed<Result>(action: () => MaybePromise<Result>): MaybePromise<Result> {
    try {
      const result = action();
      return result instanceof Promise ? result.catch((thrown: unknown) => this.#fail(thrown)) : result;
    } catch (thrown) {
      return this.#fail(thrown);
    }
  }

  #fail(thrown: unknown): never {
    const { problem } = this.#store;
    if (problem !== undefined)
      this.#warnings.warn(`The store of sessions cannot be written, so no call runs: ${problem}`);
    rethrow(thrown);
  }

  /** @throws {SessionStoreError} while ends wait to be written. */
  #requireEnds(): void {
    const { problem } = this.#ends;
    if (problem !== undefined) throw new SessionStoreError(`the session store cannot be written: ${problem}`);
  }
}

function rethrow(thrown: unknown): never {
  if (thrown instanceof SessionStoreError || thrown instanceof TooManySessionsError) throw thrown;
  throw new SessionStoreError(`the session store failed: ${describeThrown(thrown).message}`, {
    cause: thrown,
  });
}

function emit(message: string): void {
  process.emitWarning(message, { code: "SANDGATE_SESSION_STORE_FAILED" });
}
