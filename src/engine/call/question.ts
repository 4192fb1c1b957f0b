import type { PolicySubject } from "../../policy/policy.ts";
import type { Principal } from "../../policy/principal.ts";
import type { QuestionAnswer } from "../../tool/questions/question.ts";

/**
 * Asks a person what a tool wants to know. Resolves to what became of the question, however long that takes. If it rejects,
 * or the answer is not one to the question, nobody could be asked.
 *
 * @param signal Aborted if the call is cancelled or ends; the answer is ignored then.
 */
export type AskUser = (request: QuestionRequest, signal: AbortSignal) => Promise<QuestionReply>;

/** A question of a tool whose call is running. Its texts are foreign. Frozen. */
export interface QuestionRequest {
  readonly callId: string;
  readonly sessionId: string;
  readonly turnId?: string;
  readonly messageId?: string;
  /** Who calls; absent if the context does not say. */
  readonly principal?: Principal;
  readonly tool: PolicySubject;
  /** The id of the call whose tool makes this one; absent for a call of the model. */
  readonly parent?: string;
  /** 1 to 4,000 characters. */
  readonly question: string;
  /** The answers to choose from; absent if the answer is any text. */
  readonly choices?: readonly string[];
  /** Whether several choices can be given. */
  readonly multiple: boolean;
  /** How long the tool waits at most, in ms; absent if it does not say. */
  readonly timeoutMs?: number;
  /**
   * Identifies exactly what is shown: SHA-256 of the canonical JSON of session, turn, message, call, number of the question
   * in the call, definition of the tool, question, choices, and `multiple`, as 64 hexadecimal digits.
   */
  readonly digest: string;
}

/** What became of a {@link QuestionRequest}. */
export type QuestionReply =
  | { readonly decision: "answer"; readonly by: string; readonly answer: QuestionAnswer }
  | { readonly decision: "deny"; readonly by: string }
  | {
      readonly decision: "timeout";
      /** Milliseconds for which an answer was waited for. */
      readonly afterMs: number;
    }
  | { readonly decision: "cancelled" }
  | { readonly decision: "nobody" };

/** Who answered a question of a tool, or declined to, and what they were shown. */
export interface AnsweredQuestion {
  readonly by: string;
  readonly decision: "answer" | "deny";
  /** The `digest` of the request that was answered. */
  readonly digest: string;
}
