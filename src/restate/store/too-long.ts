import type { ToolExecution } from "../../engine/call/execution.ts";
import { RestateHandlerError } from "../connection/restate-error.ts";

/** Status with which Restate refuses a request of more than 32 MiB. */
const TOO_LONG = 413;

/** Whether Restate refused a request because it is too long. */
export function isTooLong(error: unknown): boolean {
  return error instanceof RestateHandlerError && error.status === TOO_LONG;
}

/** What is kept of an execution that is too long to be kept. Only who does not run the call itself reads it. */
export function tooLongExecution(execution: ToolExecution): ToolExecution {
  const { callId, toolName, arguments: args, durationMs, sandbox, receipt, success, error } = execution;
  return {
    ...{ callId, toolName, arguments: args, durationMs, sandbox, receipt },
    ...{ success: false, output: null },
    error: {
      code: error?.code ?? "execution_error",
      message: `Tool '${toolName}' ${success ? "completed" : "failed"}, but its result was too long to be kept`,
      effect: success ? "committed" : (error?.effect ?? "unknown"),
      userVisible: true,
    },
  };
}
