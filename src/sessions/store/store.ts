import type { MaybePromise } from "../../base/promises.ts";
import type { ToolExecution } from "../../engine/call/execution.ts";
import type { ToolCall } from "../../engine/call.ts";
import type { Principal } from "../../policy/principal.ts";
import type { CallIdentity, ClaimAnswer } from "../../record/identity.ts";
import type { ApprovalTable } from "../approvals.ts";
import type { ConfirmationTable } from "../confirmations/confirmation.ts";

/**
 * Stores what must survive a restart. A method that writes is atomic, and has written durably when it returns, or when its
 * promise resolves. If a method throws or rejects, nothing was written; sessions pass it on as a `SessionStoreError`.
 */
export interface SessionStore extends SessionTable, CallTable, ConfirmationTable, ApprovalTable {
  /**
   * Stores calls for conditions on earlier calls. Default: these conditions are unclear if they look back beyond a restart.
   */
  readonly ledger?: LedgerTable | undefined;
  /**
   * Whether what is written takes effect for later writes at once, before it is durable, and they fail if it fails. Default: only
   * when it is durable.
   */
  readonly isOrdered?: boolean | undefined;
  /** Why it cannot write now, for operators: a server is not ready meanwhile. Default: it can. */
  readonly problem?: string | undefined;
  /** Releases the store. No other method is called later. */
  close(): MaybePromise<void>;
}

/** Sessions and their messages. */
export interface SessionTable {
  /**
   * Adds a session. Returns `false` if the id is in use. A store that several processes share may throw
   * `TooManySessionsError`, since none of them counts the sessions of all.
   */
  addSession(session: SessionRecord): MaybePromise<boolean>;
  /** Changes the mode of a session. Does nothing if the session is unknown. */
  setMode(sessionId: string, mode: string): MaybePromise<void>;
  /** Removes a session with everything of it, except the approvals of its workspace. */
  removeSession(sessionId: string): MaybePromise<void>;
  /** Returns all sessions, in the order in which they were added. */
  sessions(): MaybePromise<readonly SessionRecord[]>;
  /**
   * Adds a message of a known session, with its calls. Returns the earlier message if the turn has one with this id, which
   * stays as it is, and otherwise `undefined`.
   */
  addMessage(message: MessageRecord): MaybePromise<MessageRecord | undefined>;
  /** Returns the messages of a turn, in the order in which they were added. */
  messages(sessionId: string, turnId: string): MaybePromise<readonly MessageRecord[]>;
  /** Returns the ids of the turns of a session that have messages, in the order in which the turns began. */
  turnIds(sessionId: string): MaybePromise<readonly string[]>;
  /** Returns the messages of all sessions that have calls which are not ended, in the order in which they were added. */
  unfinishedMessages(): MaybePromise<readonly MessageRecord[]>;
  /** Removes the messages of a turn, with their calls and confirmations. */
  removeTurn(sessionId: string, turnId: string): MaybePromise<void>;
  /**
   * Returns whether the messages of a turn were removed: at least of the latest 1,000 turns of an open session that had any.
   */
  isForgotten(sessionId: string, turnId: string): MaybePromise<boolean>;
}

/** The states of calls. A call has not begun until it is claimed. The message of a call must be known. */
export interface CallTable {
  /**
   * Counts a call of a tool, once: returns `false` if this call was counted before, as after a restart. Nested calls are
   * counted too, although they are never claimed.
   */
  count(identity: CallIdentity, toolName: string): MaybePromise<boolean>;
  /** Returns whether a call was counted. */
  isCounted(identity: CallIdentity): MaybePromise<boolean>;
  /** Returns how many calls of each tool a session has counted. */
  counts(sessionId: string): MaybePromise<ReadonlyMap<string, number>>;
  /** Takes a call in order to run it. Only one claim of an identity is `fresh`. */
  claim(identity: CallIdentity): MaybePromise<Claim>;
  /**
   * Ends a call, whether it was claimed or not. A call that has ended stays as it is, and one whose session or turn was
   * removed is ignored.
   */
  end(identity: CallIdentity, execution: ToolExecution): MaybePromise<void>;
  /** Returns the state of each call of a message, in the order of the message. Empty if the message is unknown. */
  calls(sessionId: string, turnId: string, messageId: string): MaybePromise<readonly MessageCallRecord[]>;
}

/**
 * Stores the calls of sessions and principals for conditions on them, beyond the end of a session. In a new store, no call
 * is missing.
 */
export interface LedgerTable {
  /** Adds a call that is about to run, or replaces the one with its id. */
  putEntry(entry: LedgerRecord): MaybePromise<void>;
  /** Removes a call that did not take effect. */
  removeEntry(id: string): MaybePromise<void>;
  /** Removes a call that is forgotten: from then on, calls are missing at least up to its end. */
  dropEntry(id: string, endedAt: number): MaybePromise<void>;
  /** Removes all calls. Calls are missing up to a time, or as long as it is `undefined`. */
  resetLedger(missingUntil: number | undefined): MaybePromise<void>;
  ledgerState(): MaybePromise<LedgerState>;
}

/** A call, as it is stored for conditions on earlier calls. */
export interface LedgerRecord {
  /** Unique among all calls. */
  readonly id: string;
  readonly sessionId: string;
  readonly turnId: string;
  /** The id of the principal; absent if the session has none. */
  readonly principal?: string;
  readonly tool: string;
  /** Arguments that are numbers, by their pointers (RFC 6901). */
  readonly numbers: readonly (readonly [pointer: string, value: number])[];
  /** Whether a person confirmed the call. */
  readonly isApproved: boolean;
  /** Whether it ended with success. */
  readonly isDone: boolean;
  /** In milliseconds since the epoch; absent until it has ended. */
  readonly endedAt?: number;
}

/** What a store has of earlier calls. */
export interface LedgerState {
  /** In the order of their ends; those that have not ended come last. */
  readonly entries: readonly LedgerRecord[];
  /** The time up to which calls may be missing: 0 if none is, `undefined` if calls may be missing up to now. */
  readonly missingUntil: number | undefined;
}

/** How many turns of a session a store knows to be forgotten. */
export const MAX_FORGOTTEN_TURNS = 1_000;

/** A session, as it was opened. */
export interface SessionRecord {
  readonly id: string;
  /** What people call it; absent if it has no name. */
  readonly name?: string;
  /** Absent if the session has none. */
  readonly principal?: Principal;
  /** The absolute path of the workspace; absent if the session has none. */
  readonly workspace?: string;
  readonly mode: string;
  readonly kind: "main" | "worker";
  /** Patterns of the tools that the session may see. Default: all. */
  readonly tools?: readonly string[];
  /** Absent if the calls of the session are persisted. */
  readonly durable?: false;
  /** The call of another session that runs the agent whose session this is; absent for the session of a person. */
  readonly parent?: { readonly sessionId: string; readonly callId: string };
  /** In milliseconds since the epoch. */
  readonly openedAt: number;
}

/** One assistant message of a turn: calls that are dispatched together. */
export interface MessageRecord {
  readonly sessionId: string;
  readonly turnId: string;
  readonly messageId: string;
  /** What the user said in the turn; absent if it is not known. */
  readonly userText?: string;
  /** The calls as they were received, in order. Their ids differ. */
  readonly calls: readonly ToolCall[];
  /** In milliseconds since the epoch. */
  readonly receivedAt: number;
}

/** How far a call of a message has come. */
export interface MessageCallRecord {
  readonly callId: string;
  /** `begun`: it was claimed. `ended`: `execution` is set. Otherwise it has not begun. */
  readonly state: "not-begun" | "begun" | "ended";
  readonly execution?: ToolExecution;
}

/** The answer to `claim`. */
export type Claim = ClaimAnswer<object, { readonly execution: ToolExecution }>;

/** Orders calls by their ends; those that run are last. */
export function compareEnds(one: LedgerRecord, other: LedgerRecord): number {
  return endOf(one) - endOf(other);
}

function endOf({ endedAt = Number.MAX_SAFE_INTEGER }: LedgerRecord): number {
  return endedAt;
}
