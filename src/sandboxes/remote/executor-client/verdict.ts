import type { EgressError } from "../../../egress/egress-error.ts";
import type { RefusalReason, ResourceUse, SandboxOutcome } from "../../contract/sandbox.ts";
import { noReplyText } from "../executor-failure.ts";

/** The result of one request to an executor. */
export interface Verdict {
  /** Its `used` contains what the executor measured. */
  readonly outcome: SandboxOutcome;
  /** Whether the executor is at fault, rather than the call. */
  readonly isFault: boolean;
  /** Milliseconds for which the executor takes no calls. Set if the call did not start and can be retried. */
  readonly retryAfterMs?: number;
}

/** The result of a request without a reply: the call cannot have started only if no byte was sent. */
export function readNoReply(failure: EgressError): Verdict {
  const message = noReplyText(failure);
  const { code, sent, message: detail } = failure;
  if (!sent) {
    return { outcome: refused("sandbox_unavailable", message, detail), isFault: true, retryAfterMs: 0 };
  }
  if (code !== "body_too_large") return failed(message, true, detail);
  const outcome: SandboxOutcome = {
    ...{ status: "limit_exceeded", limit: "outputBytes", effect: "unknown" },
    ...{ used: NOTHING_USED, detail },
  };
  return { outcome, isFault: true };
}

/** The use of a call of which nothing was measured. */
export const NOTHING_USED: ResourceUse = Object.freeze({ wallTimeMs: 0 });

/** The result of a call that failed at the executor: whether it ran is unknown. */
export function failed(message: string, isFault: boolean, detail?: string): Verdict {
  const more = detail === undefined ? {} : { detail };
  return { outcome: { status: "failed", effect: "unknown", used: NOTHING_USED, message, ...more }, isFault };
}

/** A call that did not start. */
export function refused(reason: RefusalReason, message: string, detail: string): SandboxOutcome {
  return {
    status: "refused",
    effect: "none",
    used: NOTHING_USED,
    reason,
    message,
    detail,
  };
}
