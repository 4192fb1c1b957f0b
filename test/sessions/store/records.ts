import { NOTHING_RAN, type ToolExecution } from "../../../src/engine/call/execution.ts";
import { checkGrant } from "../../../src/policy/grant/execution-grant.ts";
import type { CallIdentity } from "../../../src/record/identity.ts";
import type { Approval } from "../../../src/sessions/approvals.ts";
import type { CallConfirmation, Resolution } from "../../../src/sessions/confirmations/confirmation.ts";
import type { MessageRecord, SessionRecord } from "../../../src/sessions/store/store.ts";

export const SESSION: SessionRecord = {
  id: "s1",
  principal: { id: "ann", kind: "user" },
  workspace: "/srv/project",
  mode: "cautious",
  kind: "main",
  tools: ["read_*"],
  openedAt: 1_000,
};

export const MESSAGE: MessageRecord = {
  sessionId: "s1",
  turnId: "t1",
  messageId: "m1",
  userText: "write both files",
  calls: [
    { id: "call_0", name: "write_file", arguments: { path: "a", text: "ü\ud83d\ude00" } },
    { id: "call_1", name: "write_file", arguments: '{"path":"b"}' },
  ],
  receivedAt: 1_001,
};

export const CALL: CallIdentity = {
  principal: "ann",
  sessionId: "s1",
  turnId: "t1",
  messageId: "m1",
  callId: "call_0",
  digest: "d0",
};

export const CONFIRMATION: CallConfirmation = {
  id: "q1",
  kind: "call",
  sessionId: "s1",
  turnId: "t1",
  messageId: "m1",
  callId: "call_0",
  principal: "ann",
  digest: "e".repeat(64),
  shown: {
    toolName: "write_file",
    sideEffects: "write",
    inputSummary: { text: '{"path":"a"}', missing: "", isPartial: false },
    arguments: '{"path":"a"}',
    projectedChanges: ["a"],
    question: "Write the file?",
    grant: checkGrant({ sandbox: "host", limits: { wallTimeMs: 1_000 } }),
    rules: ["writes"],
  },
  choices: ["allow", "deny", "always"],
  askedAt: 1_002,
  expiresAt: 301_002,
};

export const ALLOWED: Resolution = { decision: "allow", choice: "allow", by: "bob", at: 1_003 };
export const DENIED: Resolution = { decision: "deny", choice: "deny", by: "eve", at: 1_004 };

export const APPROVAL: Approval = {
  id: "q1",
  tools: ["write_file"],
  for: "session",
  sessionId: "s1",
  by: "bob",
  at: 1_003,
};

/** The execution of a call that returned its id. */
export function executionOf(callId: string): ToolExecution {
  return {
    callId,
    toolName: "write_file",
    arguments: { path: "a" },
    success: true,
    output: { callId },
    durationMs: 1.5,
    sandbox: "host",
    receipt: NOTHING_RAN,
  };
}
