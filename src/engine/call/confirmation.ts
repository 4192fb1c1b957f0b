import type { CanonicalJson } from "../../json/canonical.ts";
import type { JsonValue } from "../../json/value.ts";
import type { ExecutionGrant } from "../../policy/grant/execution-grant.ts";
import type { PolicySubject } from "../../policy/policy.ts";
import type { Principal } from "../../policy/principal.ts";
import type { QuestionAnswer } from "../../tool/question.ts";

/**
 * Asks a person whether a call may run. Resolves to the answer, however long that takes: `decisionTimeoutMs` does not
 * apply. If it rejects, the call is denied.
 *
 * @param signal Aborted if the call is cancelled; the answer is ignored then.
 */
export type Confirm = (request: ConfirmationRequest, signal: AbortSignal) => Promise<ConfirmationAnswer>;

/** A call that a person is asked about: it could run as it is, and nothing of it has run. Frozen. */
export interface ConfirmationRequest {
  readonly callId: string;
  readonly sessionId: string;
  readonly turnId?: string;
  readonly messageId?: string;
  /** The caller; absent if the context does not name one. */
  readonly principal?: Principal;
  readonly tool: PolicySubject;
  /** The validated arguments, deeply frozen. */
  readonly input: JsonValue;
  /** The arguments as canonical text, with its digest. */
  readonly canonical: CanonicalJson;
  /**
   * The paths that the tool declares among the arguments, where they lead now: relative to the session's workspace, without
   * `..` and links; as the model wrote them if there is no workspace. Absent if the tool declares none.
   */
  readonly paths?: readonly { readonly path: string; readonly access: "read" | "write" }[];
  /** The grant under which the call would run. */
  readonly grant: ExecutionGrant;
  /** What the policy asks. */
  readonly question: string;
  /** The names of the rules that led to the question. Empty if the policy names none. */
  readonly rules: readonly string[];
  /** Whether the policy accepts an earlier approval of the same session. Default: it does not. */
  readonly remember?: "session";
  /** The id of the call whose tool makes this one; absent for a call of the model. */
  readonly parent?: string;
  /**
   * Identifies exactly what is shown: SHA-256 of the canonical JSON of session, turn, message, call, arguments' digest,
   * definition of the tool, and grant, as 64 hexadecimal digits.
   */
  readonly digest: string;
}

/** The answer to a {@link ConfirmationRequest}. */
export type ConfirmationAnswer =
  | {
      readonly decision: "allow";
      /** Who allowed the call. */
      readonly by: string;
      /** Other arguments, under which the call is to run. They are validated and decided on like the call's own. */
      readonly arguments?: JsonValue;
      /** Milliseconds from the question to the answer, for the journal. Default: it is not known. */
      readonly afterMs?: number;
    }
  | {
      readonly decision: "deny";
      readonly by: string;
      /** Milliseconds from the question to the answer, for the journal. Default: it is not known. */
      readonly afterMs?: number;
      /** Why, which the model reads: at most 1,000 characters of it. Default: no reason. */
      readonly reason?: string;
    }
  | {
      readonly decision: "timeout";
      /** Milliseconds for which an answer was waited for. */
      readonly afterMs: number;
    }
  | { readonly decision: "nobody" };

/** A person's confirmation of a call that ran, or was about to. */
export interface GivenConfirmation {
  readonly by: string;
  /** The `digest` of the request that was answered. */
  readonly digest: string;
  /** The digest of the request with the arguments that the person wrote; absent if they were not changed. */
  readonly editedDigest?: string;
}

/** A person's answer to the confirmation of a call, as it is recorded. */
export interface RecordedAnswer {
  readonly by: string;
  readonly decision: "allow" | "deny";
  /** Milliseconds from the question to the answer. Absent if it is not known. */
  readonly afterMs?: number;
}

/**
 * Asks a person what a tool wants to know. Resolves to the outcome of the question, however long that takes. If it rejects,
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
  /** The caller; absent if the context does not name one. */
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

/** The outcome of a {@link QuestionRequest}. */
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
