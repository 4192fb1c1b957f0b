import { type ContentBlock, contentText, isContentOutput } from "../../tool/content.ts";
import type { ToolCall } from "./call.ts";
import type { ToolExecution } from "./execution.ts";

/** The assistant's message: the calls that have a result. */
export interface AssistantMessage {
  readonly role: "assistant";
  readonly toolCalls: readonly ToolCall[];
}

/** The message with the results: one for each call, in the same order. */
export interface ToolMessage {
  readonly role: "tool";
  readonly results: readonly ToolResult[];
}

/** The result of one call, as the model reads it. */
export interface ToolResult {
  readonly callId: string;
  readonly toolName: string;
  readonly content: readonly ContentBlock[];
  readonly isError: boolean;
}

/**
 * Builds the two messages that continue a conversation. A call that a hook aborted (`null`) has no result and is left
 * out of both messages: providers require exactly one result for each call.
 *
 * @throws {TypeError} unless `executions` has the results of `calls`, one for each and in the same order.
 */
export function buildToolResultMessages(
  calls: readonly ToolCall[],
  executions: readonly (ToolExecution | null)[],
): [AssistantMessage, ToolMessage] {
  const toolCalls: ToolCall[] = [];
  const results: ToolResult[] = [];
  if (calls.length !== executions.length) {
    throw new TypeError(`${calls.length} calls, but ${executions.length} executions`);
  }
  for (const [index, execution] of executions.entries()) {
    const call = calls[index];
    if (execution === null || call === undefined) continue;
    if (call.id !== execution.callId) {
      throw new TypeError(
        `execution ${index} belongs to call '${execution.callId}', not to call '${call.id}'`,
      );
    }
    toolCalls.push(call);
    results.push(toToolResult(execution));
  }
  return [
    { role: "assistant", toolCalls },
    { role: "tool", results },
  ];
}

/** Converts an execution for the model: its content, its output as text, or the text of its error. */
export function toToolResult({ callId, toolName, output, error }: ToolExecution): ToolResult {
  return { callId, toolName, content: resultContent(output, error), isError: error !== undefined };
}

function resultContent(
  output: ToolExecution["output"],
  error: ToolExecution["error"],
): readonly ContentBlock[] {
  if (isContentOutput(output)) {
    const { content } = output;
    // A failure without any text would tell the model nothing.
    const isSilent = error !== undefined && contentText(content).trim() === "";
    return isSilent ? [{ type: "text", text: error.message }, ...content] : content;
  }
  if (error !== undefined) return [{ type: "text", text: error.message }];
  return [{ type: "text", text: typeof output === "string" ? output : JSON.stringify(output) }];
}
