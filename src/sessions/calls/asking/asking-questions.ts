import type { QuestionReply, QuestionRequest } from "../../../engine/call/question.ts";
import type { QuestionChoice } from "../../confirmations/inquiry.ts";
import { shownQuestion } from "../../confirmations/shown-question.ts";
import type { MessageCore } from "../core.ts";
import { askInquiry } from "./asking-inquiry.ts";

const CHOICES: readonly QuestionChoice[] = Object.freeze(["answer", "deny"]);

/**
 * Asks a person what a tool wants to know, and waits for the answer. The call is running: after a restart, its question is
 * cancelled.
 */
export async function askQuestion(
  { session, turn, id: messageId, inquiries }: MessageCore,
  request: QuestionRequest,
  signal: AbortSignal,
): Promise<QuestionReply> {
  if (turn.unattended) return { decision: "nobody" };
  const { redaction } = session;
  const { callId, digest, principal, parent, timeoutMs = inquiries.timeoutMs } = request;
  const resolution = await askInquiry(
    { inquiries, origin: session.origin },
    {
      ...{ kind: "question", sessionId: session.id, turnId: turn.id, messageId, callId, digest },
      ...(principal !== undefined && { principal: principal.id }),
      ...(parent !== undefined && { parent }),
      ...{ shown: shownQuestion(request, redaction), choices: CHOICES },
    },
    { signal, timeoutMs },
  );
  if (resolution === "nobody") return { decision: "nobody" };
  const { decision, by = "", answer } = resolution;
  switch (decision) {
    case "answer":
      return answer === undefined ? { decision: "nobody" } : { decision, by, answer };
    case "deny":
      return { decision, by };
    case "timeout":
      return { decision, afterMs: Math.min(timeoutMs, inquiries.timeoutMs) };
    case "cancelled":
      return { decision };
    // No inquiry of this kind ends so.
    case "allow":
      return { decision: "nobody" };
  }
}
