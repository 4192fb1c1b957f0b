import type { ToolCall } from "../engine/call.ts";
import type { ToolExecution } from "../engine/execution.ts";
import { buildToolResultMessages } from "../engine/messages.ts";
import { isJsonObject } from "../json/value.ts";
import { type Protocol, ProtocolError } from "./protocol.ts";
import { expectArray, expectAssistantMessage, expectObject, expectString } from "./shape.ts";
import { toText } from "./text.ts";

/** An assistant's calls (OpenAI API reference, "Create chat completion"). */
export interface OpenAiAssistantMessage {
  readonly role: "assistant";
  readonly tool_calls: readonly OpenAiToolCall[];
}

/** One call; `arguments` is JSON text, as the model wrote it. */
export interface OpenAiToolCall {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; readonly arguments: string };
}

/** The result of one call. The format marks no errors: the text has to tell. */
export interface OpenAiToolMessage {
  readonly role: "tool";
  readonly tool_call_id: string;
  readonly content: string;
}

/**
 * OpenAI Chat Completions. Reads an assistant message, or a whole chat completion, of which it takes the first
 * choice. Results are text: of an image the model learns that there is one.
 */
export const openAiChatProtocol: Protocol<OpenAiAssistantMessage | OpenAiToolMessage> = Object.freeze({
  readCalls(message: unknown): readonly ToolCall[] {
    if (isJsonObject(message) && message["choices"] !== undefined) {
      const [choice] = expectArray(message["choices"], "/choices");
      return readMessage(expectObject(choice, "/choices/0")["message"], "/choices/0/message");
    }
    return readMessage(message, "");
  },

  toMessages(calls: readonly ToolCall[], executions: readonly (ToolExecution | null)[]) {
    const [{ toolCalls }, { results }] = buildToolResultMessages(calls, executions);
    // The provider refuses an empty list of calls.
    if (toolCalls.length === 0) return [];
    return [
      { role: "assistant" as const, tool_calls: toolCalls.map(writeCall) },
      ...results.map(({ callId, content }) => ({
        role: "tool" as const,
        tool_call_id: callId,
        content: toText(content),
      })),
    ];
  },
});

function readMessage(value: unknown, pointer: string): readonly ToolCall[] {
  const { tool_calls: list, function_call: legacyCall } = expectAssistantMessage(value, pointer);
  if (legacyCall !== undefined && legacyCall !== null) {
    const reason = "has no id, so no result can answer it: offer the functions as tools";
    throw new ProtocolError(`${pointer}/function_call`, reason);
  }
  // Some servers say that there are no calls with null.
  if (list === undefined || list === null) return [];
  const listPointer = `${pointer}/tool_calls`;
  return expectArray(list, listPointer).map((item, index) => readCall(item, `${listPointer}/${index}`));
}

function readCall(value: unknown, pointer: string): ToolCall {
  // Some servers leave the type out.
  const { id, type = "function", function: called } = expectObject(value, pointer);
  if (type !== "function") throw new ProtocolError(`${pointer}/type`, 'must be "function"');
  const { name, arguments: args } = expectObject(called, `${pointer}/function`);
  return {
    id: expectString(id, `${pointer}/id`),
    name: expectString(name, `${pointer}/function/name`),
    arguments: expectString(args, `${pointer}/function/arguments`),
  };
}

function writeCall({ id, name, arguments: args }: ToolCall): OpenAiToolCall {
  const text = typeof args === "string" ? args : JSON.stringify(args);
  return { id, type: "function", function: { name, arguments: text } };
}
