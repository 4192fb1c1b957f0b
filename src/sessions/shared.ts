import type { Redaction } from "../redaction/redaction.ts";
import type { Approvals } from "./approvals/approvals.ts";
import type { ChangeListeners, SessionChangesOptions } from "./changes/session-changes.ts";
import type { InquiryBroker } from "./confirmations/inquiry-broker.ts";
import type { DurableRuntime } from "./durable/durable-runtime.ts";
import type { Ledgers } from "./ledger/ledgers.ts";
import type { ModeListeners } from "./modes/mode-changes.ts";
import type { Settings } from "./options.ts";
import type { GuardedStore } from "./store/guarded-store.ts";
import type { RestingTurn } from "./turns/resting-turn.ts";

/** What all sessions share. */
export interface Shared {
  readonly settings: Settings;
  readonly redaction: Redaction;
  /** Keeps sessions, inquiries and approvals. */
  readonly table: GuardedStore;
  /** The same, if it keeps calls too. */
  readonly store: GuardedStore | undefined;
  /** Runs the calls; `undefined` if they run in this process. */
  readonly durable: DurableRuntime | undefined;
  readonly inquiries: InquiryBroker;
  readonly approvals: Approvals;
  readonly ledgers: Ledgers;
  readonly modeListeners: ModeListeners;
  readonly changeListeners: ChangeListeners;
  /** Counts the staged changes of all sessions. */
  readonly stagedQuota: SessionChangesOptions["room"];
  /** Whether the sessions are being closed, so that calls that wait go on in the next process. */
  readonly isSuspended: boolean;
  readonly resting: RestingTurn;
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
