import type { EgressError } from "../../../egress/egress-error.ts";
import type { RefusalReason, ResourceUse, SandboxOutcome } from "../../contract/sandbox.ts";
import { noReplyText } from "../executor-failure.ts";

/** What one request came to. */
export interface Verdict {
  /** Its `used` has what the executor measured. */
  readonly outcome: SandboxOutcome;
  /** Whether the executor is to blame, rather than the call. */
  readonly isFault: boolean;
  /** For how long the executor takes no calls, in ms; set where nothing happened and the call may be asked again. */
  readonly retryAfterMs?: number;
}

/** What it means that there is no answer: only if no byte was sent, nothing can have happened. */
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

/** What is used where nothing was measured. */
export const NOTHING_USED: ResourceUse = Object.freeze({ wallTimeMs: 0 });

/** A failure of the executor, after which nobody knows whether the call ran. */
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
