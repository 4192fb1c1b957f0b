import type { QuestionReply, QuestionRequest } from "../../engine/call/confirmation.ts";
import type { Redaction } from "../../redaction/redaction.ts";
import { textSummary } from "../../rendering/text-summary.ts";
import type {
  NewConfirmation,
  QuestionChoice,
  Resolution,
  ShownQuestion,
} from "../confirmations/confirmation.ts";
import type { Confirmer } from "../confirmations/confirmation-broker.ts";
import type { AskOptions } from "../confirmations/open-confirmations.ts";
import type { MessageCore, SessionCore } from "./core.ts";
import { parentName } from "./core.ts";

const CHOICES: readonly QuestionChoice[] = Object.freeze(["answer", "deny"]);

/**
 * Asks a person what a tool wants to know, and waits for the answer. The call is running: after a restart, its question is
 * cancelled.
 */
export async function askQuestion(
  { session, turn, id: messageId, confirmations }: MessageCore,
  request: QuestionRequest,
  signal: AbortSignal,
): Promise<QuestionReply> {
  if (turn.unattended) return { decision: "nobody" };
  const { redaction } = session;
  const { callId, digest, principal, parent, timeoutMs = confirmations.timeoutMs } = request;
  const resolution = await requestConfirmation(
    { confirmations, origin: session.origin },
    {
      kind: "question",
      sessionId: session.id,
      turnId: turn.id,
      messageId,
      callId,
      digest,
      ...(principal !== undefined && { principal: principal.id }),
      ...(parent !== undefined && { parent }),
      shown: shownQuestion(request, redaction),
      choices: CHOICES,
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
      return { decision, afterMs: Math.min(timeoutMs, confirmations.timeoutMs) };
    case "cancelled":
      return { decision };
    // No confirmation of this kind ends so.
    case "allow":
      return { decision: "nobody" };
  }
}

/** Returns what a person is shown of a question, frozen. */
function shownQuestion(
  { tool, question, choices, multiple }: QuestionRequest,
  redaction: Redaction,
): ShownQuestion {
  const { text, missing, isPartial } = textSummary(question, { redaction });
  return Object.freeze({
    toolName: tool.name,
    sideEffects: tool.sideEffects,
    questionSummary: Object.freeze({ text, missing, isPartial }),
    question,
    multiple,
    ...(choices !== undefined && { options: choices }),
  });
}

/**
 * Asks a person, and waits for the answer. A confirmation about a call of an agent names the call that runs the agent, whose wall
 * time stands still meanwhile.
 *
 * @returns as `Confirmer.ask` does.
 */
export async function requestConfirmation(
  { confirmations, origin }: Pick<SessionCore, "origin"> & { readonly confirmations: Confirmer },
  question: NewConfirmation,
  options: AskOptions,
): Promise<Resolution | "nobody"> {
  if (origin === undefined) return confirmations.ask(question, options);
  const resume = origin.pause();
  try {
    return await confirmations.ask({ parent: parentName(origin), ...question }, options);
  } finally {
    resume();
  }
}
