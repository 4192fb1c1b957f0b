import type { CanonicalJson } from "../../json/canonical.ts";
import type { JsonValue } from "../../json/value.ts";
import type { ExecutionGrant } from "../../policy/grant/execution-grant.ts";
import type { PolicySubject } from "../../policy/policy.ts";
import type { Principal } from "../../policy/principal.ts";

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
  /** Who calls; absent if the context does not say. */
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
export interface Confirmation {
  readonly by: string;
  /** The `digest` of the request that was answered. */
  readonly digest: string;
  /** The digest of the request with the arguments that the person wrote; absent if they were not changed. */
  readonly editedDigest?: string;
}

/** What a person answered who was asked about a call, as it is recorded. */
export interface RecordedAnswer {
  readonly by: string;
  readonly decision: "allow" | "deny";
  /** Milliseconds from the question to the answer. Absent if it is not known. */
  readonly afterMs?: number;
}
