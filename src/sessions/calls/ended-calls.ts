import { type ExecutionReceipt, NOTHING_RAN, type ToolExecution } from "../../engine/call/execution.ts";
import type { RecordedOutcome } from "../../engine/call/journal.ts";
import { WITHDRAWN_TEXT } from "../../engine/call/messages.ts";
import type { ReceivedCall } from "../../engine/call.ts";
import {
  CANCELLED_TEXT,
  confirmationTimeoutText,
  interruptedText,
  lostResultText,
  type ToolError,
  userDeniedText,
} from "../../engine/errors.ts";
import { sealExecution } from "../../engine/result.ts";
import { changesNothing } from "../../tool/side-effects.ts";
import type { Resolution } from "../confirmations/confirmation.ts";

const STILL_RUNS: ExecutionReceipt = Object.freeze({ ...NOTHING_RAN, mayStillRun: true, ended: "unknown" });

/** The execution of a cancelled call whose tool does not stop. */
export function abandonedExecution(call: ReceivedCall): ToolExecution {
  return failed(call, { code: "cancelled", message: CANCELLED_TEXT, effect: "unknown" }, STILL_RUNS);
}

/** The execution of a call that had been given to its sandbox when the process ended. It is not run again. */
export function interruptedExecution(call: ReceivedCall): ToolExecution {
  const message = interruptedText(call.name);
  return failed(call, { code: "execution_error", message, effect: "unknown" }, STILL_RUNS);
}

/** The execution of a call that an earlier process ran, as far as a journal has recorded it. */
export function recordedExecution(call: ReceivedCall, { end, sideEffects }: RecordedOutcome): ToolExecution {
  if (end === undefined) return interruptedExecution(call);
  const { success, code = "execution_error", effect } = end;
  const isReading = sideEffects !== undefined && changesNothing(sideEffects);
  const message = code === "cancelled" ? CANCELLED_TEXT : lostResultText(call.name, success);
  return failed(call, { code, message, effect: effect ?? (isReading ? "none" : "committed") }, NOTHING_RAN);
}

/** The execution of a call that was cancelled before it began. */
export function cancelledExecution(call: ReceivedCall): ToolExecution {
  return failed(call, { code: "cancelled", message: CANCELLED_TEXT, effect: "none" }, NOTHING_RAN);
}

/** The execution of a call that a person did not allow, or in time, before its process was lost. */
export function unconfirmedExecution(
  call: ReceivedCall,
  resolution: Pick<Resolution, "decision" | "reason"> | undefined,
): ToolExecution {
  const error =
    resolution?.decision === "deny"
      ? ({ code: "user_denied", message: userDeniedText(resolution.reason) } as const)
      : ({ code: "confirmation_timeout", message: confirmationTimeoutText(undefined) } as const);
  return failed(call, { ...error, effect: "none" }, NOTHING_RAN);
}

/** What is stored of a call that a hook aborted, which has no execution. */
export function withdrawnExecution(call: ReceivedCall): ToolExecution {
  return failed(call, { code: "cancelled", message: WITHDRAWN_TEXT, effect: "none" }, NOTHING_RAN);
}

function failed(
  { id: callId, name: toolName, arguments: args }: ReceivedCall,
  error: Omit<ToolError, "userVisible">,
  receipt: ExecutionReceipt,
): ToolExecution {
  return sealExecution(
    {
      callId,
      toolName,
      arguments: args,
      success: false,
      output: null,
      durationMs: 0,
      sandbox: null,
      receipt,
    },
    { error: { ...error, userVisible: true } },
  );
}
