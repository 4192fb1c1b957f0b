import type { EgressError, EgressErrorCode } from "../../../egress/egress-error.ts";
import type { ProblemCode } from "../../../remote-protocol/problems.ts";
import type { ResourceUse, SandboxOutcome, TaskRefusalReason } from "../../contract/outcome.ts";

/** The result of one request to an executor. */
export interface Verdict {
  /** Its `used` contains what the executor measured. */
  readonly outcome: SandboxOutcome;
  /** Whether the executor is at fault, rather than the call. */
  readonly isFault: boolean;
  /** Milliseconds for which the executor takes no calls. Set if the call did not start and can be retried. */
  readonly retryAfterMs?: number;
  /** Set if no answer came although the request was sent: the executor may have the call, or its result. */
  readonly isLost?: true;
  /** Set if the executor answered with an execution. */
  readonly isAnswer?: true;
  /** The problem with which the executor answered. */
  readonly problem?: ProblemCode;
}

/** The result of a request without a reply: the call cannot have started only if no byte was sent. */
export function readNoReply(failure: EgressError): Verdict {
  const message = noReplyText(failure);
  const { code, sent, message: detail } = failure;
  if (!sent) {
    return { outcome: refused("sandbox_unavailable", message, detail), isFault: true, retryAfterMs: 0 };
  }
  if (code !== "body_too_large") {
    const verdict = failed(message, true, detail);
    const isLost = SENT[code] === undefined;
    return {
      ...verdict,
      outcome: { ...verdict.outcome, mayStillRun: true },
      ...(isLost && { isLost }),
    };
  }
  const outcome: SandboxOutcome = {
    status: "limit_exceeded",
    limit: "outputBytes",
    effect: "unknown",
    used: NOTHING_USED,
    detail,
    mayStillRun: true,
  };
  return { outcome, isFault: true };
}

/** The use of a call of which nothing was measured. */
export const NOTHING_USED: ResourceUse = Object.freeze({ wallTimeMs: 0 });

/** The result of a call that failed at the executor: whether it ran is unknown. */
export function failed(message: string, isFault: boolean, detail?: string): Verdict {
  const more = detail === undefined ? {} : { detail };
  return {
    outcome: { status: "failed", effect: "unknown", used: NOTHING_USED, message, userVisible: true, ...more },
    isFault,
  };
}

/** The outcome of a call that did not start. */
export function refused(reason: TaskRefusalReason, message: string, detail: string): SandboxOutcome {
  return {
    status: "refused",
    effect: "none",
    used: NOTHING_USED,
    reason,
    message,
    detail,
  };
}

/** Why no byte was sent. The model reads these texts, so they name no host and no address. */
const NOT_SENT: { readonly [Code in EgressErrorCode]?: string } = {
  name_not_resolved: "its name cannot be resolved",
  connection_refused: "connection refused",
  unreachable: "no route to host",
  connect_timeout: "the connection timed out",
  certificate_invalid: "its certificate is not valid",
  tls_failed: "TLS failed",
};

/** Why there is no valid reply to a request that was sent. */
const SENT: { readonly [Code in EgressErrorCode]?: string } = {
  headers_too_large: "The tool's executor sent headers that are too large",
  body_too_large: "The tool's executor sent a response that is too large",
  response_invalid: "The tool's executor sent an invalid response",
};

/** The text for the model of a request without a reply. */
export function noReplyText({ code, sent }: EgressError): string {
  if (sent) return SENT[code] ?? "The connection to the tool's executor was lost before it responded";
  return `Cannot reach the tool's executor: ${NOT_SENT[code] ?? "the connection failed"}`;
}
