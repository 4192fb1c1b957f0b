import { equalJson } from "../../json/equal.ts";
import type { JsonValue } from "../../json/value.ts";
import type { QuestionAnswer } from "../../tool/questions/question.ts";
import type { ApprovalScope } from "../approvals/approval.ts";
import type { Choice, Inquiry, Resolution } from "./inquiry.ts";

/** A person's answer to an inquiry. */
export interface InquiryAnswer {
  readonly decision: Choice;
  /** The digest of the inquiry that the person saw. */
  readonly digest: string;
  /** Who answers, as it was authenticated. */
  readonly by: string;
  /** What the person answers to the question of a tool; only and always with `answer`. */
  readonly answer?: QuestionAnswer;
  /** Other arguments, under which the call is to run; only with `allow` and `always`. Default: those that were shown. */
  readonly arguments?: JsonValue;
  /** What is remembered, only with `always`. Default: the tool, in this session. */
  readonly approval?: ApprovalScope;
  /** Why the call is denied, which the model reads; only with `deny`, at most 1,000 characters. Default: no reason. */
  readonly reason?: string;
  /** The session in which the person looked for the inquiry; one of another session is unknown. Default: any. */
  readonly sessionId?: string;
  /** Likewise the turn. Default: any. */
  readonly turnId?: string;
  /** Aborted when the person may not answer any more: what is still being checked then counts for nothing. Default: never. */
  readonly signal?: AbortSignal;
}

/** What became of an answer. */
export type AnswerOutcome =
  /** The inquiry was resolved by this answer, or earlier by the same one. */
  | { readonly outcome: "resolved"; readonly resolution: Resolution }
  /** Another answer was first. */
  | { readonly outcome: "lost"; readonly resolution: Resolution }
  /** The inquiry timed out or was cancelled. */
  | { readonly outcome: "gone" }
  /** There is no such inquiry, or not in this session and turn. */
  | { readonly outcome: "unknown" }
  /** The person saw something else. The inquiry stays open. */
  | { readonly outcome: "other-digest" }
  /** The answer cannot be accepted, for the reason in `problem`. The inquiry stays open. */
  | { readonly outcome: "invalid"; readonly problem: string };

/** Returns the resolution that an answer makes, frozen. */
export function resolutionOf({ decision, by, ...answer }: InquiryAnswer, at: number): Resolution {
  return Object.freeze({
    decision: decision === "always" ? "allow" : decision,
    choice: decision,
    by,
    at,
    ...(answer.answer !== undefined && { answer: answer.answer }),
    ...(answer.arguments !== undefined && { arguments: answer.arguments }),
    ...(answer.approval !== undefined && { approval: answer.approval }),
    ...(answer.reason !== undefined && { reason: answer.reason }),
  });
}

/** Tells a person what became of an answer to an inquiry that is resolved. */
export function outcomeOf(resolution: Resolution, answer: InquiryAnswer, digest: string): AnswerOutcome {
  if (resolution.choice === undefined) return { outcome: "gone" };
  const isSame =
    resolution.by === answer.by &&
    resolution.choice === answer.decision &&
    digest === answer.digest &&
    resolution.reason === answer.reason &&
    equalOptional(resolution.answer as JsonValue | undefined, answer.answer as JsonValue | undefined) &&
    equalOptional(resolution.arguments, answer.arguments) &&
    equalOptional(resolution.approval as JsonValue | undefined, answer.approval as JsonValue | undefined);
  return { outcome: isSame ? "resolved" : "lost", resolution };
}

/** Whether an inquiry is in the session and the turn in which the person looked for it. */
export function isIn(inquiry: Inquiry, { sessionId, turnId }: InquiryAnswer): boolean {
  return (
    (sessionId === undefined || sessionId === inquiry.sessionId) &&
    (turnId === undefined || turnId === inquiry.turnId)
  );
}

function equalOptional(one: JsonValue | undefined, other: JsonValue | undefined): boolean {
  return one === undefined || other === undefined ? one === other : equalJson(one, other);
}
