/** The names under which Restate knows the virtual objects of the stores. Operators see them. */
export const SESSION_OBJECT = "SandgateSession";
export const INQUIRY_OBJECT = "SandgateInquiry";
export const PRINCIPAL_OBJECT = "SandgatePrincipal";
export const INDEX_OBJECT = "SandgateIndex";
export const APPROVALS_OBJECT = "SandgateApprovals";
export const LEDGER_OBJECT = "SandgateLedger";
