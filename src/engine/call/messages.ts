import { type ContentBlock, contentText, isContentOutput } from "../../tool/content.ts";
import type { ToolCall } from "./call.ts";
import type { ToolExecution } from "./execution.ts";

/** The assistant's half of the pair: the calls that have a result. */
export interface AssistantMessage {
  readonly role: "assistant";
  readonly toolCalls: readonly ToolCall[];
}

/** The tools' half of the pair: one result for each call, in the same order. */
export interface ToolMessage {
  readonly role: "tool";
  readonly results: readonly ToolResult[];
}

/** What the model reads of one call. */
export interface ToolResult {
  readonly callId: string;
  readonly toolName: string;
  readonly content: readonly ContentBlock[];
  readonly isError: boolean;
}

/**
 * Builds the two messages that continue a conversation. A call that a hook aborted (`null`) has no result and
 * is left out of both, so that each call in the pair has exactly one.
 *
 * @throws {TypeError} when calls and executions do not belong together, one to one and in order.
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
      throw new TypeError(`execution ${index} is of call '${execution.callId}', not of '${call.id}'`);
    }
    toolCalls.push(call);
    results.push(toToolResult(execution));
  }
  return [
    { role: "assistant", toolCalls },
    { role: "tool", results },
  ];
}

/** What the model reads of one execution: its content, its output as text, or its error's text. */
export function toToolResult({ callId, toolName, output, error }: ToolExecution): ToolResult {
  return { callId, toolName, content: resultContent(output, error), isError: error !== undefined };
}

function resultContent(
  output: ToolExecution["output"],
  error: ToolExecution["error"],
): readonly ContentBlock[] {
  if (isContentOutput(output)) {
    const { content } = output;
    // A failure reported without words needs some all the same.
    const isSilent = error !== undefined && contentText(content).trim() === "";
    return isSilent ? [{ type: "text", text: error.message }, ...content] : content;
  }
  if (error !== undefined) return [{ type: "text", text: error.message }];
  return [{ type: "text", text: typeof output === "string" ? output : JSON.stringify(output) }];
}
