import type { ToolCall } from "../../../engine/call/call.ts";
import type { ToolResult } from "../../../engine/call/messages.ts";
import type { ToolRegistry } from "../../../engine/registry.ts";
import { isJsonObject, type JsonObject } from "../../../json/value.ts";
import { createProtocol } from "../../create-protocol.ts";
import { ProtocolError } from "../../parsing/protocol-error.ts";
import { expectArray, expectAssistantMessage, expectObject, expectString } from "../../parsing/shape.ts";
import { toArgumentsText, toText } from "../../parsing/text.ts";
import type { AssistantTurn, ProviderProtocol } from "../../protocol.ts";
import type { ProviderShape } from "../../provider-shape.ts";
import { OPENAI_STRICT } from "../../strict/subsets.ts";
import { readChatChunk } from "./chat-stream.ts";

/** The definition of a tool (OpenAI API reference, "Create chat completion"). */
export interface OpenAiTool {
  readonly type: "function";
  readonly function: {
    readonly name: string;
    readonly description: string;
    readonly parameters: Record<string, unknown>;
    readonly strict: boolean;
  };
}

/** An assistant's text and calls. */
export interface OpenAiAssistantMessage {
  readonly role: "assistant";
  readonly content?: string;
  readonly tool_calls: OpenAiToolCall[];
}

/** One call. `arguments` is JSON text. */
export interface OpenAiToolCall {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; readonly arguments: string };
}

/** The result of one call. The format does not mark errors, so the text has to name them. */
export interface OpenAiToolMessage {
  readonly role: "tool";
  readonly tool_call_id: string;
  readonly content: string;
}

/**
 * OpenAI Chat Completions and compatible servers. Reads an assistant message, a chat completion (its first choice), or
 * its chunks. Results are text only: images are replaced by a placeholder.
 */
export function openAiChatProtocol(
  registry: ToolRegistry<never>,
): ProviderProtocol<OpenAiTool[], OpenAiAssistantMessage | OpenAiToolMessage> {
  return createProtocol(OPENAI_CHAT_SHAPE, registry);
}

const OPENAI_CHAT_SHAPE: ProviderShape<OpenAiTool[], OpenAiAssistantMessage | OpenAiToolMessage> = {
  format: "openai",
  strict: OPENAI_STRICT,
  writeTools: (tools) =>
    tools.map(({ name, description, inputSchema, strict }) => ({
      type: "function",
      function: { name, description, parameters: { ...inputSchema }, strict },
    })),
  readMessage(message) {
    if (isJsonObject(message) && message["choices"] !== undefined) {
      const [choice] = expectArray(message["choices"], "/choices");
      return readAssistant(expectObject(choice, "/choices/0")["message"], "/choices/0/message");
    }
    return readAssistant(message, "");
  },
  readEvent: readChatChunk,
  writeTurn: (calls, text) => [
    { role: "assistant", ...(text !== "" && { content: text }), tool_calls: calls.map(writeCall) },
  ],
  writeResults: writeToolMessages,
};

function readAssistant(value: unknown, pointer: string): AssistantTurn {
  const { content, tool_calls: list, function_call: legacy } = expectAssistantMessage(value, pointer);
  if (legacy !== undefined && legacy !== null) {
    const reason = "has no id, so it cannot be answered: offer the functions as tools";
    throw new ProtocolError(`${pointer}/function_call`, reason);
  }
  return { text: readContent(content), calls: readChatCalls(list, `${pointer}/tool_calls`) };
}

/** Reads a message's `tool_calls`. Some servers send null if there are none. */
export function readChatCalls(list: unknown, pointer: string): readonly ToolCall[] {
  if (list === undefined || list === null) return [];
  return expectArray(list, pointer).map((item, index) => readChatCall(item, `${pointer}/${index}`));
}

/** Writes one message per result. */
export function writeToolMessages(results: readonly ToolResult[]): OpenAiToolMessage[] {
  return results.map(({ callId, content }) => ({
    role: "tool",
    tool_call_id: callId,
    content: toText(content),
  }));
}

/** Returns the text of a string or of a list of parts. */
function readContent(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((part: JsonObject | null) => (typeof part?.["text"] === "string" ? part["text"] : ""))
    .join("");
}

/** Reads one entry of `tool_calls`. @throws {ProtocolError} */
function readChatCall(value: unknown, pointer: string): ToolCall {
  // Some servers omit the type.
  const { id, type = "function", function: called } = expectObject(value, pointer);
  if (type !== "function") throw new ProtocolError(`${pointer}/type`, 'must be "function"');
  const { name, arguments: args } = expectObject(called, `${pointer}/function`);
  return {
    id: expectString(id, `${pointer}/id`),
    name: expectString(name, `${pointer}/function/name`),
    arguments: expectString(args, `${pointer}/function/arguments`),
  };
}

/** Writes one entry of `tool_calls`. */
export function writeCall({ id, name, arguments: args }: ToolCall): OpenAiToolCall {
  return { id, type: "function", function: { name, arguments: toArgumentsText(args) } };
}
