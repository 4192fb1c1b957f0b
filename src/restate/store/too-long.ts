import type { ToolExecution } from "../../engine/call/execution.ts";
import { RestateHandlerError, TOO_LONG } from "../connection/restate-error.ts";

/** Whether Restate refused a request because it is too long. */
export function isTooLong(error: unknown): boolean {
  return error instanceof RestateHandlerError && error.status === TOO_LONG;
}

/** The bytes of the JSON of an execution, and of the executions of a message, that travel in a message of Restate. */
const MAX_BYTES = 12_000_000;
/** The bytes of the arguments, and of a name, that are stored of an execution that is too long: there may be thousands. */
const MAX_KEPT_BYTES = 1_000;

/** Returns executions with those replaced that are too long to be stored together. */
export function withinMessage(
  executions: readonly (ToolExecution | null)[],
): readonly (ToolExecution | null)[] {
  let left = MAX_BYTES;
  return executions.map((execution) => {
    if (execution === null) return null;
    const bytes = bytesOf(execution);
    if (bytes > left) return tooLongExecution(execution);
    left -= bytes;
    return execution;
  });
}

/**
 * Returns what is stored of an execution that is too long: neither its output nor long arguments. The process that runs the
 * call uses the whole execution.
 */
export function tooLongExecution(execution: ToolExecution): ToolExecution {
  const { callId, toolName: name, arguments: args, durationMs, sandbox, receipt, success, error } = execution;
  const toolName = bytesOf(name) > MAX_KEPT_BYTES ? `${name.slice(0, MAX_KEPT_BYTES / 10)}…` : name;
  return {
    callId,
    toolName,
    arguments: bytesOf(args) > MAX_KEPT_BYTES ? null : args,
    durationMs,
    sandbox,
    receipt,
    success: false,
    output: null,
    error: {
      code: error?.code ?? "execution_error",
      message: `Tool '${toolName}' ${success ? "completed" : "failed"}, but its result was too long to be kept`,
      effect: success ? "committed" : (error?.effect ?? "unknown"),
      userVisible: true,
    },
  };
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
