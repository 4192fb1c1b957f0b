// Stores

export type { CallIdentity } from "../sessions/store/call-identity.ts";
export { MemorySessionStore } from "../sessions/store/memory-store.ts";
export type {
  CallRecord,
  Claim,
  InquiryRecord,
  MessageRecord,
  SessionRecord,
} from "../sessions/store/records.ts";
export { SessionStoreError } from "../sessions/store/session-store-error.ts";
export { SqliteSessionStore } from "../sessions/store/sqlite-store.ts";
export type {
  ApprovalTable,
  CallTable,
  InquiryTable,
  SessionStore,
  SessionTable,
} from "../sessions/store/store.ts";

// Inquiries and approvals

export type { Approval, ApprovalScope, StoredApproval } from "../sessions/approvals/approval.ts";
export type {
  Choice,
  InputSummary,
  Inquiry,
  Resolution,
  ShownCall,
} from "../sessions/confirmations/inquiry.ts";
