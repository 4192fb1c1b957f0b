import type { ToolCall } from "../../../engine/call/call.ts";
import type { ToolResult } from "../../../engine/call/messages.ts";
import type { ToolRegistry } from "../../../engine/registry.ts";
import { isJsonObject, type JsonObject } from "../../../json/value.ts";
import { createProtocol } from "../../create-protocol.ts";
import { expectAssistantMessage, expectObject, expectObjects, readReason } from "../../parsing/shape.ts";
import { toArgumentsText, toInputText, toText } from "../../parsing/text.ts";
import type { ProviderProtocol } from "../../protocol.ts";
import type { ProviderShape } from "../../provider-shape.ts";
import type { OfferedTool } from "../../strict/offer-tools.ts";
import { OPENAI_STRICT } from "../../strict/subsets.ts";
import type { TurnCall } from "../../turn.ts";
import { UNSIGNED } from "../google/generate.ts";
import { readChatMessage } from "./chat-message.ts";
import { readChatChunk } from "./chat-stream.ts";

/** The definition of a tool (OpenAI API reference, "Create chat completion"). */
export type OpenAiTool = OpenAiFunctionTool | OpenAiCustomTool;

/** A free-form tool. */
export interface OpenAiCustomTool {
  readonly type: "custom";
  readonly custom: { readonly name: string; readonly description?: string };
}

/** A tool that takes JSON. */
export interface OpenAiFunctionTool {
  readonly type: "function";
  readonly function: {
    readonly name: string;
    readonly description?: string;
    readonly parameters: Record<string, unknown>;
    readonly strict: boolean;
  };
}

/** An assistant's text and calls. */
export interface OpenAiAssistantMessage {
  readonly role: "assistant";
  readonly content?: string;
  /** The model's reasoning, which DeepSeek and others want back. They may have other such members. */
  readonly reasoning_content?: string;
  /** Absent if there is none: the provider rejects an empty list. */
  readonly tool_calls?: (OpenAiToolCall | OpenAiCustomToolCall)[];
}

/** One call of a free-form tool. */
export interface OpenAiCustomToolCall {
  readonly id: string;
  readonly type: "custom";
  readonly custom: { readonly name: string; readonly input: string };
}

/** One call of a function. `arguments` is JSON text. */
export interface OpenAiToolCall {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; readonly arguments: string };
  /** What Gemini wants back with the call. */
  readonly extra_content?: JsonObject;
}

/** The result of one call. The format does not mark errors, so the text has to name them. */
export interface OpenAiToolMessage {
  readonly role: "tool";
  readonly tool_call_id: string;
  readonly content: string;
}

/**
 * OpenAI Chat Completions and compatible servers. Reads an assistant message, a chat completion (its first choice), or
 * its chunks, and those of Ollama's own API. Results are text only: images are replaced by a placeholder.
 */
export function openAiChatProtocol(
  registry: ToolRegistry<never>,
): ProviderProtocol<OpenAiTool[], OpenAiAssistantMessage | OpenAiToolMessage> {
  return createProtocol(OPENAI_CHAT_SHAPE, registry);
}

const OPENAI_CHAT_SHAPE: ProviderShape<OpenAiTool[], OpenAiAssistantMessage | OpenAiToolMessage> = {
  format: "openai",
  strict: OPENAI_STRICT,
  takesText: true,
  writeTools: (tools) => tools.map(writeTool),
  readMessage(message, turn) {
    if (isJsonObject(message) && message["choices"] !== undefined) {
      const choices = expectObjects(message["choices"], "/choices");
      const position = Math.max(
        choices.findIndex(({ index = 0 }) => index === 0),
        0,
      );
      const pointer = `/choices/${position}`;
      const choice = expectObject(choices[position], pointer);
      const own = expectAssistantMessage(choice["message"], `${pointer}/message`);
      readChatMessage(own, `${pointer}/message`, turn);
      return readReason(choice["finish_reason"]);
    }
    if (isJsonObject(message) && message["message"] !== undefined) {
      readChatMessage(expectAssistantMessage(message["message"], "/message"), "/message", turn);
      return readReason(message["done_reason"]);
    }
    readChatMessage(expectAssistantMessage(message, ""), "", turn);
    return undefined;
  },
  readEvent: readChatChunk,
  writeTurn: ({ calls, text, members, lacksData }) => {
    const [first, ...others] = calls;
    // The first call of a turn has Gemini's signature. The next one takes its place without one.
    const isUnsigned = lacksData && first !== undefined && first.providerData === undefined;
    const written = isUnsigned ? [{ ...first, providerData: UNSIGNED_DATA }, ...others] : calls;
    return [
      {
        role: "assistant",
        ...members,
        ...(text !== "" && { content: text }),
        ...(calls.length > 0 && { tool_calls: written.map(writeAnyCall) }),
      },
    ];
  },
  writeResults: writeToolMessages,
};

function writeTool({ name, description, inputSchema, freeform, strict }: OfferedTool): OpenAiTool {
  const named = { name, ...(description !== undefined && { description }) };
  if (freeform) return { type: "custom", custom: named };
  return { type: "function", function: { ...named, parameters: { ...inputSchema }, strict } };
}

const UNSIGNED_DATA: JsonObject = { extra_content: { google: { thought_signature: UNSIGNED } } };

function writeAnyCall(call: TurnCall): OpenAiToolCall | OpenAiCustomToolCall {
  const { id, name, arguments: args } = call;
  const extra = call.providerData?.["extra_content"];
  if (!call.custom) return { ...writeCall(call), ...(isJsonObject(extra) && { extra_content: extra }) };
  return { id, type: "custom", custom: { name, input: toInputText(args) } };
}

/** Writes one message per result. */
export function writeToolMessages(results: readonly ToolResult[]): OpenAiToolMessage[] {
  return results.map(({ callId, content }) => ({
    role: "tool",
    tool_call_id: callId,
    content: toText(content),
  }));
}

/** Writes one entry of `tool_calls`. */
export function writeCall({ id, name, arguments: args }: ToolCall): OpenAiToolCall {
  return { id, type: "function", function: { name, arguments: toArgumentsText(args) } };
}
