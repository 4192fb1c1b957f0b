import type { ToolResult } from "../../../engine/call/messages.ts";
import type { ToolRegistry } from "../../../engine/registry.ts";
import { isJsonObject, type JsonObject } from "../../../json/value.ts";
import type { ContentBlock } from "../../../tool/content.ts";
import { createProtocol } from "../../create-protocol.ts";
import { expectAssistantMessage, readReason } from "../../parsing/shape.ts";
import { shownContent, toArgumentsObject, toVisibleText } from "../../parsing/text.ts";
import type { ProviderProtocol } from "../../protocol.ts";
import type { ProviderShape } from "../../provider-shape.ts";
import { ANTHROPIC_STRICT } from "../../strict/subsets.ts";
import type { TurnCall } from "../../turn.ts";
import type { WrittenPart } from "../../written-turn.ts";
import { readBlocks } from "./blocks.ts";
import { readMessagesEvent } from "./stream.ts";

/** The definition of a tool (Anthropic API reference, "Messages"). */
export interface AnthropicTool {
  readonly name: string;
  readonly description?: string;
  readonly input_schema: { readonly type: "object"; readonly [keyword: string]: unknown };
  readonly strict?: true;
}

/** An assistant's text and calls. */
export interface AnthropicAssistantMessage {
  readonly role: "assistant";
  readonly content: (AnthropicText | AnthropicToolUse | AnthropicThinking)[];
}

/** The model's signed reasoning, which is sent back unchanged. */
export type AnthropicThinking =
  | { readonly type: "thinking"; readonly thinking: string; readonly signature: string }
  | { readonly type: "redacted_thinking"; readonly data: string };

/** The results of an assistant's calls, in the same order. */
export interface AnthropicUserMessage {
  readonly role: "user";
  readonly content: AnthropicToolResult[];
}

/** A text block. */
export interface AnthropicText {
  readonly type: "text";
  readonly text: string;
}

/** One call. */
export interface AnthropicToolUse {
  readonly type: "tool_use";
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
  /** The code of the model that made the call, if code did. */
  readonly caller?: { readonly type: "direct" };
}

/** The result of one call. */
export interface AnthropicToolResult {
  readonly type: "tool_result";
  readonly tool_use_id: string;
  readonly content: (AnthropicText | AnthropicImage)[];
  readonly is_error: boolean;
}

/** An image in a result. */
export interface AnthropicImage {
  readonly type: "image";
  readonly source: {
    readonly type: "base64";
    readonly media_type: "image/jpeg" | "image/png" | "image/gif" | "image/webp";
    readonly data: string;
  };
}

type AnthropicMessage = AnthropicAssistantMessage | AnthropicUserMessage;

/**
 * Anthropic Messages. Reads an assistant message, which is also the format of a response, or its events. Tool uses that
 * the provider executes itself (`server_tool_use`) are in `other`.
 */
export function anthropicMessagesProtocol(
  registry: ToolRegistry<never>,
): ProviderProtocol<AnthropicTool[], AnthropicMessage> {
  return createProtocol(ANTHROPIC_SHAPE, registry);
}

const ANTHROPIC_SHAPE: ProviderShape<AnthropicTool[], AnthropicMessage> = {
  format: "anthropic",
  strict: ANTHROPIC_STRICT,
  writeTools: (tools) =>
    tools.map(({ name, description, inputSchema, strict }) => ({
      name,
      ...(description !== undefined && { description }),
      input_schema: { ...inputSchema, type: "object" },
      ...(strict && { strict }),
    })),
  readMessage(message, turn) {
    const { content, stop_reason: reason } = expectAssistantMessage(message, "");
    if (typeof content === "string") turn.addText(content);
    else readBlocks(content, "/content", turn);
    return readReason(reason);
  },
  readEvent: readMessagesEvent,
  writeTurn: ({ parts }) => {
    // The provider rejects a message that ends with its reasoning.
    const last = parts.findLastIndex((part) => !("opaque" in part && isReasoning(part.opaque)));
    return [{ role: "assistant", content: parts.slice(0, last + 1).flatMap(writePart) }];
  },
  writeResults: (results) => [{ role: "user", content: results.map(writeToolResult) }],
};

function writePart(part: WrittenPart): AnthropicAssistantMessage["content"] {
  if ("text" in part) return [{ type: "text", text: part.text }];
  if ("call" in part) return [writeToolUse(part.call)];
  // A block whose input was cut off has it as text.
  if (part.opaque["partial_json"] !== undefined) return [];
  // Other blocks are the provider's own, too.
  return [part.opaque as unknown as AnthropicThinking];
}

function isReasoning({ type }: JsonObject): boolean {
  return type === "thinking" || type === "redacted_thinking";
}

function writeToolUse({ id, name, arguments: args, providerData }: TurnCall): AnthropicToolUse {
  const caller = providerData?.["caller"];
  return {
    type: "tool_use",
    id,
    name,
    input: toArgumentsObject(args),
    ...(isJsonObject(caller) && { caller: caller as AnthropicToolUse["caller"] & {} }),
  };
}

function writeToolResult({ callId, content, isError }: ToolResult): AnthropicToolResult {
  return {
    type: "tool_result",
    tool_use_id: callId,
    content: writeContent(content, isError),
    is_error: isError,
  };
}

/** The provider rejects blank texts, and errors that have anything but text. */
function writeContent(content: readonly ContentBlock[], isError: boolean): AnthropicToolResult["content"] {
  const shown = shownContent(content, !isError);
  if (shown.length === 0) return isError ? [{ type: "text", text: toVisibleText(content) }] : [];
  return shown.map((block) => {
    if (block.type === "text") return { type: "text", text: block.text };
    return { type: "image", source: { type: "base64", media_type: block.mimeType, data: block.data } };
  });
}
