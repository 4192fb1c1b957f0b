// Sessions

export { MessageConflictError } from "../sessions/calls/stored-messages.ts";
export type { Level } from "../sessions/levels.ts";
export type { SessionMode } from "../sessions/modes/mode.ts";
export type { SessionsOptions } from "../sessions/options.ts";
export type { Session, TurnOptions } from "../sessions/session.ts";
export { SessionExistsError, TooManySessionsError } from "../sessions/session-errors.ts";
export { openSessions, type Sessions } from "../sessions/sessions.ts";
export type { Turn } from "../sessions/turn.ts";

// Staged changes

export type { AcceptedChanges, ChangeConflict, PendingChange } from "../changes/pending.ts";
export { digestOfAll } from "../changes/pending.ts";
export type { SessionChanges } from "../sessions/session-changes.ts";
export type { SessionShadow } from "../sessions/session-shadow.ts";

// Confirmations and questions

export type { AnswerOutcome, PersonAnswer } from "../sessions/confirmations/answer.ts";
export type {
  CallConfirmation,
  Confirmation,
  Resolution,
  ToolQuestion,
} from "../sessions/confirmations/confirmation.ts";
export type { ConfirmationListener } from "../sessions/confirmations/confirmation-broker.ts";

// Approvals

export type { Approval } from "../sessions/approvals.ts";
export type { ApprovalScope } from "../sessions/confirmations/confirmation.ts";

// Stores

export type { CallIdentity } from "../record/identity.ts";
export type { ApprovalTable } from "../sessions/approvals.ts";
export type { ConfirmationTable } from "../sessions/confirmations/confirmation.ts";
export { SessionStoreError } from "../sessions/session-errors.ts";
export { MemorySessionStore } from "../sessions/store/memory-store.ts";
export { SqliteSessionStore } from "../sessions/store/sqlite-store.ts";
export type {
  CallTable,
  Claim,
  LedgerTable,
  MessageCallRecord,
  MessageRecord,
  SessionRecord,
  SessionStore,
  SessionTable,
} from "../sessions/store/store.ts";
