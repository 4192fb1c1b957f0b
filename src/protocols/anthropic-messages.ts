import type { ToolCall } from "../engine/call.ts";
import type { ContentBlock } from "../engine/content.ts";
import type { ToolExecution } from "../engine/execution.ts";
import { buildToolResultMessages, type ToolResult } from "../engine/messages.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/value.ts";
import type { Protocol } from "./protocol.ts";
import { expectArray, expectAssistantMessage, expectObject, expectString } from "./shape.ts";
import { describeImage } from "./text.ts";

/** An assistant's calls (Anthropic API reference, "Messages"). */
export interface AnthropicAssistantMessage {
  readonly role: "assistant";
  readonly content: readonly AnthropicToolUse[];
}

/** The results of all those calls, in the same order. */
export interface AnthropicUserMessage {
  readonly role: "user";
  readonly content: readonly AnthropicToolResult[];
}

/** One call. */
export interface AnthropicToolUse {
  readonly type: "tool_use";
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
}

/** The result of one call. */
export interface AnthropicToolResult {
  readonly type: "tool_result";
  readonly tool_use_id: string;
  readonly content: readonly AnthropicContent[];
  readonly is_error: boolean;
}

/** What a result can show. */
export type AnthropicContent =
  | { readonly type: "text"; readonly text: string }
  | {
      readonly type: "image";
      readonly source: { readonly type: "base64"; readonly media_type: string; readonly data: string };
    };

/** The only types of images that the provider takes: any other makes it refuse the conversation. */
const MEDIA_TYPES: ReadonlySet<string> = new Set(["image/jpeg", "image/png", "image/gif", "image/webp"]);
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/**
 * Anthropic Messages. Reads an assistant message or a whole response, which is one. Blocks that the provider
 * ran itself (`server_tool_use`) are no calls.
 */
export const anthropicMessagesProtocol: Protocol<AnthropicAssistantMessage | AnthropicUserMessage> =
  Object.freeze({
    readCalls(message: unknown): readonly ToolCall[] {
      const { content } = expectAssistantMessage(message, "");
      if (typeof content === "string") return [];
      return expectArray(content, "/content").flatMap((item, index) => {
        const block = expectObject(item, `/content/${index}`);
        return block["type"] === "tool_use" ? [readToolUse(block, `/content/${index}`)] : [];
      });
    },

    toMessages(calls: readonly ToolCall[], executions: readonly (ToolExecution | null)[]) {
      const [{ toolCalls }, { results }] = buildToolResultMessages(calls, executions);
      // The provider refuses empty content.
      if (toolCalls.length === 0) return [];
      return [
        { role: "assistant" as const, content: toolCalls.map(writeToolUse) },
        { role: "user" as const, content: results.map(writeToolResult) },
      ];
    },
  });

function readToolUse({ id, name, input }: JsonObject, pointer: string): ToolCall {
  return {
    id: expectString(id, `${pointer}/id`),
    name: expectString(name, `${pointer}/name`),
    arguments: expectObject(input, `${pointer}/input`),
  };
}

function writeToolUse({ id, name, arguments: args }: ToolCall): AnthropicToolUse {
  return { type: "tool_use", id, name, input: toInput(args) };
}

/** The provider takes objects only; what another format's model sent instead is wrapped, not lost. */
function toInput(args: JsonValue): JsonObject {
  if (isJsonObject(args)) return args;
  if (typeof args === "string") {
    try {
      const parsed: unknown = JSON.parse(args);
      if (isJsonObject(parsed)) return parsed;
    } catch {
      // Broken arguments are echoed all the same: their result says what is wrong with them.
    }
  }
  return { arguments: args };
}

function writeToolResult({ callId, content, isError }: ToolResult): AnthropicToolResult {
  return {
    type: "tool_result",
    tool_use_id: callId,
    // The provider refuses empty texts, and anything but text in an error.
    content: content
      .filter((block) => block.type !== "text" || block.text !== "")
      .map((block) => writeContent(block, !isError)),
    is_error: isError,
  };
}

function writeContent(block: ContentBlock, imagesAllowed: boolean): AnthropicContent {
  if (block.type === "text") return { type: "text", text: block.text };
  const { mimeType, data } = block;
  if (!imagesAllowed || !MEDIA_TYPES.has(mimeType) || data.length % 4 !== 0 || !BASE64.test(data)) {
    return { type: "text", text: describeImage(block) };
  }
  return { type: "image", source: { type: "base64", media_type: mimeType, data } };
}
