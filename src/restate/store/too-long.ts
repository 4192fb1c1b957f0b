import type { ToolExecution } from "../../engine/call/execution.ts";
import { RestateHandlerError } from "../connection/restate-error.ts";

/** Status with which Restate refuses a request of more than 32 MiB. */
const TOO_LONG = 413;

/** Whether Restate refused a request because it is too long. */
export function isTooLong(error: unknown): boolean {
  return error instanceof RestateHandlerError && error.status === TOO_LONG;
}

/** The longest JSON of an execution, and of the executions of a message, that travels in a message of Restate. */
const MAX_LENGTH = 12_000_000;

/** Returns executions with those replaced that are too long to be kept together. */
export function withinMessage(
  executions: readonly (ToolExecution | null)[],
): readonly (ToolExecution | null)[] {
  let left = MAX_LENGTH;
  return executions.map((execution) => {
    if (execution === null) return null;
    const { length } = JSON.stringify(execution);
    if (length > left) return tooLongExecution(execution);
    left -= length;
    return execution;
  });
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
