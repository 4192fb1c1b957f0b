// Stores

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
export type {
  CallTable,
  SessionStore,
  SessionTable,
} from "../sessions/store/store.ts";

// Inquiries and approvals

export type { Approval, ApprovalScope, StoredApproval } from "../sessions/approvals/approval.ts";
export type { ApprovalTable } from "../sessions/approvals/approval-table.ts";
export type {
  Choice,
  Inquiry,
  InquiryRecord,
  Resolution,
  ShownCall,
} from "../sessions/confirmations/inquiry.ts";
export type { InquiryTable } from "../sessions/confirmations/inquiry-table.ts";
