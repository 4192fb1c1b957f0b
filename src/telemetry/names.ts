/**
 * Names of the OpenTelemetry semantic conventions for generative AI (their status is "Development"), release 0.1.0:
 * https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/execute-tool.md
 */
export const OPERATION = "execute_tool";
export const OPERATION_NAME = "gen_ai.operation.name";
export const CONVERSATION_ID = "gen_ai.conversation.id";
export const TOOL_NAME = "gen_ai.tool.name";
export const TOOL_TYPE = "gen_ai.tool.type";
export const TOOL_DESCRIPTION = "gen_ai.tool.description";
export const TOOL_CALL_ID = "gen_ai.tool.call.id";
export const TOOL_CALL_ARGUMENTS = "gen_ai.tool.call.arguments";
export const TOOL_CALL_RESULT = "gen_ai.tool.call.result";
export const ERROR_TYPE = "error.type";
export const EXCEPTION_EVENT = "gen_ai.execute_tool.exception";
export const EXCEPTION_MESSAGE = "exception.message";
export const EXCEPTION_STACKTRACE = "exception.stacktrace";
export const DURATION_METRIC = "gen_ai.execute_tool.duration";

/** The value of {@link TOOL_TYPE}: a function that the application runs, with arguments from the model. */
export const FUNCTION_TYPE = "function";
/** The value of {@link ERROR_TYPE} for a call that a hook aborted; all other values are an `ErrorCode`. */
export const ABORTED = "aborted";
/** The value of an attribute of metrics that stands for all values that are not known. */
export const OTHER = "_OTHER";

/** The buckets, in seconds, that the conventions recommend for {@link DURATION_METRIC}. */
export const DURATION_BUCKETS: readonly number[] = Object.freeze(
  Array.from({ length: 14 }, (_, power) => 2 ** power / 100),
);
