// Sessions

export type { KeptMessage } from "../sessions/calls/kept-messages.ts";
export { MessageConflictError } from "../sessions/calls/kept-messages.ts";
export type { BaseMode, ClassLevels, Level, ToolLevel } from "../sessions/deciding/levels.ts";
export type { CustomMode, SessionMode } from "../sessions/modes/mode.ts";
export type { ModeChange, ModeListener } from "../sessions/modes/mode-changes.ts";
export type { ConfirmationOptions, SessionLimits, SessionsOptions } from "../sessions/options.ts";
export type { Session, TurnOptions } from "../sessions/session.ts";
export { SessionExistsError, TooManySessionsError } from "../sessions/session-errors.ts";
export {
  openSessions,
  type Sessions,
} from "../sessions/sessions.ts";
export type { DispatchMessageOptions, Turn } from "../sessions/turns/turn.ts";

// Changes that wait

export type { AcceptedChanges, AcceptOptions, ChangeConflict } from "../changes/accepted-changes.ts";
export type { ConflictReason } from "../changes/disk-entry.ts";
export { digestOfAll } from "../changes/pending/digest-of-all.ts";
export type { PendingChange } from "../changes/pending/pending.ts";
export type { ChangeEvent, ChangeListener } from "../sessions/changes/change-events.ts";
export type { ChangeAnswer, SessionChanges, ShownChange } from "../sessions/changes/session-changes.ts";
export type { SessionShadow } from "../sessions/session-shadow.ts";

// People who are asked

export type { AnswerOutcome, InquiryAnswer } from "../sessions/confirmations/answer.ts";
export type {
  CallChoice,
  CallInquiry,
  Choice,
  Inquiry,
  InquiryBase,
  InquiryRecord,
  QuestionChoice,
  QuestionInquiry,
  Resolution,
  ShownCall,
  ShownQuestion,
} from "../sessions/confirmations/inquiry.ts";
export type { InquiryEvent, InquiryListener } from "../sessions/confirmations/inquiry-listeners.ts";

// What they approved

export type { Approval, ApprovalScope, StoredApproval } from "../sessions/approvals/approval.ts";

// Stores

export type { ApprovalTable } from "../sessions/approvals/approval-table.ts";
export type { InquiryTable } from "../sessions/confirmations/inquiry-table.ts";
export type { LedgerRecord, LedgerState, LedgerTable } from "../sessions/ledger/ledger-table.ts";
export type { OpenSessionOptions } from "../sessions/session-record.ts";
export type { CallIdentity } from "../sessions/store/call-identity.ts";
export { MemorySessionStore } from "../sessions/store/memory-store.ts";
export type {
  CallRecord,
  Claim,
  MessageRecord,
  SessionRecord,
} from "../sessions/store/records.ts";
export { SessionStoreError } from "../sessions/store/session-store-error.ts";
export { SqliteSessionStore } from "../sessions/store/sqlite-store.ts";
export type { CallTable, SessionStore, SessionTable } from "../sessions/store/store.ts";
