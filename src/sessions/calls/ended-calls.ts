import type { ReceivedCall } from "../../engine/call/call.ts";
import {
  type ExecutionReceipt,
  NOTHING_RAN,
  sealExecution,
  type ToolExecution,
} from "../../engine/call/execution.ts";
import { WITHDRAWN_TEXT } from "../../engine/call/messages.ts";
import { CANCELLED_TEXT, interruptedText, type ToolError } from "../../engine/failure/errors.ts";

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

/** What is kept of a call that a hook aborted, which has no execution. */
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
      ...{ callId, toolName, arguments: args, success: false, output: null },
      ...{ durationMs: 0, sandbox: null, receipt },
    },
    { ...error, userVisible: true },
  );
}
