// Sessions

export { MessageConflictError } from "../sessions/calls/stored-messages.ts";
export type { Level } from "../sessions/levels.ts";
export type { SessionMode } from "../sessions/modes/mode.ts";
export type { SessionsOptions } from "../sessions/options.ts";
export type { Session, TurnOptions } from "../sessions/session.ts";
export { SessionExistsError, TooManySessionsError } from "../sessions/session-errors.ts";
export { openSessions, type Sessions } from "../sessions/sessions.ts";
export type { Turn } from "../sessions/turns/turn.ts";

// Changes that wait

export type { AcceptedChanges, ChangeConflict } from "../changes/accepted-changes.ts";
export type { PendingChange } from "../changes/pending/pending.ts";
export { digestOfAll } from "../changes/pending/pending.ts";
export type { SessionChanges } from "../sessions/changes/session-changes.ts";
export type { SessionShadow } from "../sessions/session-shadow.ts";

// People who are asked

export type { AnswerOutcome, InquiryAnswer } from "../sessions/confirmations/answer.ts";
export type { CallInquiry, Inquiry, QuestionInquiry, Resolution } from "../sessions/confirmations/inquiry.ts";
export type { InquiryListener } from "../sessions/confirmations/inquiry-listeners.ts";

// What they approved

export type { Approval, ApprovalScope } from "../sessions/approvals/approval.ts";

// Stores

export type { ApprovalTable } from "../sessions/approvals/approval.ts";
export type { InquiryTable } from "../sessions/confirmations/inquiry.ts";
export type { LedgerTable } from "../sessions/ledger/ledger-table.ts";
export type { CallIdentity } from "../sessions/store/call-identity.ts";
export { MemorySessionStore } from "../sessions/store/memory-store.ts";
export type { CallRecord, Claim, MessageRecord, SessionRecord } from "../sessions/store/records.ts";
export { SessionStoreError } from "../sessions/store/session-store-error.ts";
export { SqliteSessionStore } from "../sessions/store/sqlite-store.ts";
export type { CallTable, SessionStore, SessionTable } from "../sessions/store/store.ts";
