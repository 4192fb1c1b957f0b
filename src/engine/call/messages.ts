import { plainText } from "../../base/text.ts";
import { canonicalText } from "../../json/canonical.ts";
import { type ContentBlock, contentText, isContentOutput } from "../../tool/content.ts";
import type { ToolCall } from "../call.ts";
import { withinBudget } from "../result-budget.ts";
import { workText } from "../work-report.ts";
import type { ToolExecution } from "./execution.ts";

/** The result that the model reads of a call that a hook aborted. */
export const WITHDRAWN_TEXT = "Tool call was withdrawn";

/** The assistant's message: its text, and the calls that have a result. */
export interface AssistantMessage {
  readonly role: "assistant";
  /** Absent if none. */
  readonly text?: string;
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
  /** The characters of the text before and after it was shortened to the `resultBudget`; absent if it is whole. */
  readonly truncated?: { readonly from: number; readonly to: number };
}

/**
 * Builds the two messages that continue a conversation. A call that a hook aborted (`null`) has no result and is left
 * out of both messages: providers require exactly one result for each call.
 *
 * @param turn The assistant's text, to be repeated.
 * @throws {TypeError} unless `executions` has the results of `calls`, one for each and in the same order.
 */
export function buildToolResultMessages(
  calls: readonly ToolCall[],
  executions: readonly (ToolExecution | null)[],
  { text = "" }: { readonly text?: string } = {},
): [AssistantMessage, ToolMessage] {
  const results = toToolResults(calls, executions, "omit");
  const toolCalls = calls.filter((_, index) => executions[index] !== null);
  return [
    { role: "assistant", ...(text !== "" && { text }), toolCalls },
    { role: "tool", results },
  ];
}

/**
 * Converts the executions of calls for the model.
 *
 * @param aborted What happens to a call that a hook aborted: it gets an error result, or none.
 * @throws {TypeError} unless `executions` has the results of `calls`, one for each and in the same order.
 */
export function toToolResults(
  calls: readonly ToolCall[],
  executions: readonly (ToolExecution | null)[],
  aborted: "result" | "omit",
): readonly ToolResult[] {
  if (calls.length !== executions.length) {
    throw new TypeError(`${calls.length} calls, but ${executions.length} executions`);
  }
  const results: ToolResult[] = [];
  for (const [index, { id, name }] of calls.entries()) {
    const execution = executions[index] ?? null;
    if (execution === null) {
      if (aborted === "result") results.push(withdrawn(id, name));
    } else if (id === execution.callId) {
      results.push(toToolResult(execution));
    } else {
      throw new TypeError(`execution ${index} belongs to call '${execution.callId}', not to call '${id}'`);
    }
  }
  return results;
}

function withdrawn(callId: string, toolName: string): ToolResult {
  return { callId, toolName, content: [{ type: "text", text: WITHDRAWN_TEXT }], isError: true };
}

/**
 * Converts an execution for the model: its content, its output as text, or the text of its error. The text is shortened
 * to the `resultBudget` of the call's context.
 */
export function toToolResult(execution: ToolExecution): ToolResult {
  const { callId, toolName, error, resultBudget } = execution;
  const notices = { before: editNotice(execution), after: workDone(execution) };
  const within = withinBudget(resultContent(execution), resultBudget, notices);
  return { callId, toolName, ...within, isError: error !== undefined };
}

/** A text for the model: what ran in place of its own arguments. */
function editNotice({ confirmation, arguments: args }: ToolExecution): readonly ContentBlock[] {
  if (confirmation?.editedDigest === undefined) return [];
  return [{ type: "text", text: `[A person changed the arguments to ${canonicalText(args)}]` }];
}

/** A text for the model: what the tool did, besides its result. */
function workDone({ work }: ToolExecution): readonly ContentBlock[] {
  return work === undefined ? [] : [{ type: "text", text: workText(work) }];
}

function resultContent({ sandbox, ...execution }: ToolExecution): readonly ContentBlock[] {
  const content = contentOf(execution);
  // Programs write for terminals.
  if (sandbox !== "process" && sandbox !== "microvm") return content;
  return content.map((block) => (block.type === "text" ? { ...block, text: plainText(block.text) } : block));
}

function contentOf({
  output,
  error,
  partialOutput,
  modelText,
}: Omit<ToolExecution, "sandbox">): readonly ContentBlock[] {
  if (isContentOutput(output)) {
    const { content } = output;
    // A failure without any text would say nothing to the model.
    const isSilent = error !== undefined && contentText(content).trim() === "";
    return isSilent ? [{ type: "text", text: error.message }, ...content] : content;
  }
  if (error !== undefined) {
    const text = partialOutput === undefined ? error.message : `${error.message}\n${partialOutput}`;
    return [{ type: "text", text }];
  }
  if (modelText !== undefined) return [{ type: "text", text: modelText }];
  return [{ type: "text", text: typeof output === "string" ? output : JSON.stringify(output) }];
}
