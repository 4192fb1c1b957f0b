import { randomUUID } from "node:crypto";
import type { InquiryWay } from "./inquiry-forms.ts";

/**
 * Sends the person at the client to the address where approvers answer. That the person goes there answers nothing: an approver
 * has to, with credentials of their own. A person who does not want to go there denies the inquiry.
 *
 * @param isModern Since MCP 2026-07-28, such requests have no id of their own.
 */
export function pageAt(approvalUrl: string, isModern: boolean): InquiryWay {
  return {
    requestOf: () => ({
      method: "elicitation/create",
      params: {
        ...{ mode: "url", url: approvalUrl, message: waitingText(approvalUrl) },
        ...(!isModern && { elicitationId: randomUUID() }),
      },
    }),
    answerOf: ({ digest }, { action }, by) =>
      action === "accept" ? undefined : { decision: "deny", digest, by },
  };
}

/** What a client is told of a call that waits for an approver. */
export function waitingText(approvalUrl: string): string {
  return `Waiting for a person to confirm the call at ${approvalUrl}`;
}
