import type { QuestionRequest } from "../../engine/call/question.ts";
import type { Redaction } from "../../redaction/redaction.ts";
import { textSummary } from "../../rendering/text-summary.ts";
import type { ShownQuestion } from "./inquiry.ts";

/** Returns what a person is shown of a question, frozen. */
export function shownQuestion(
  { tool, question, choices, multiple }: QuestionRequest,
  redaction: Redaction,
): ShownQuestion {
  const { text, missing, isPartial } = textSummary(question, { redaction });
  return Object.freeze({
    ...{ toolName: tool.name, sideEffects: tool.sideEffects },
    questionSummary: Object.freeze({ text, missing, isPartial }),
    ...{ question, multiple },
    ...(choices !== undefined && { options: choices }),
  });
}
