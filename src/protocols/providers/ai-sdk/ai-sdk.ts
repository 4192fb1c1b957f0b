import type { ToolResult } from "../../../engine/call/messages.ts";
import type { ToolRegistry } from "../../../engine/registry.ts";
import { isJsonObject, type JsonObject } from "../../../json/value.ts";
import type { ContentBlock } from "../../../tool/content.ts";
import { createProtocol } from "../../create-protocol.ts";
import { expectAssistantMessage, expectObjects } from "../../parsing/shape.ts";
import { shownContent, toArgumentsObject, toVisibleText } from "../../parsing/text.ts";
import type { TurnCollector } from "../../parsing/turn-collector.ts";
import type { ProviderProtocol } from "../../protocol.ts";
import type { ProviderShape } from "../../provider-shape.ts";
import type { OfferedTool } from "../../strict/offer-tools.ts";
import { COMMON_STRICT } from "../../strict/subsets.ts";
import type { WrittenPart } from "../../written-turn.ts";
import { type AiSdkSchema, toAiSdkSchema } from "./schema.ts";
import { readAiSdkCall, readAiSdkPart, readFinishReason, toReasoning } from "./stream.ts";

/** The output of a call in AI SDK 7 (`ToolResultOutput`). */
export type AiSdkOutput =
  | { readonly type: "text" | "error-text"; readonly value: string }
  | { readonly type: "content"; readonly value: AiSdkContent[] };

/** A content block. */
type AiSdkContent =
  | { readonly type: "text"; readonly text: string }
  | {
      readonly type: "file";
      readonly mediaType: string;
      readonly data: { readonly type: "data"; readonly data: string };
    };

/** A tool of a `ToolSet` without an `execute` function. */
export interface AiSdkToolDefinition {
  readonly description?: string;
  readonly inputSchema: AiSdkSchema;
  readonly strict?: true;
}

/** An assistant's text and calls. */
export interface AiSdkAssistantMessage {
  readonly role: "assistant";
  readonly content: ({ readonly type: "text"; readonly text: string } | AiSdkReasoning | AiSdkToolCall)[];
}

/** What a provider wants back with a part, by provider. */
export type AiSdkProviderOptions = Record<string, JsonObject>;

/** The model's reasoning. */
export interface AiSdkReasoning {
  readonly type: "reasoning";
  readonly text: string;
  readonly providerOptions?: AiSdkProviderOptions;
}

/** One call. */
export interface AiSdkToolCall {
  readonly type: "tool-call";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: JsonObject;
  readonly providerOptions?: AiSdkProviderOptions;
}

/** The results of an assistant's calls, in the same order. */
export interface AiSdkToolMessage {
  readonly role: "tool";
  readonly content: AiSdkToolResult[];
}

/** The result of one call. The type of its output marks errors. */
export interface AiSdkToolResult {
  readonly type: "tool-result";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly output: AiSdkOutput;
}

type AiSdkMessage = AiSdkAssistantMessage | AiSdkToolMessage;

/**
 * AI SDK 7 (the package `ai`), for callers that dispatch calls between its steps. Reads an assistant's `ModelMessage`,
 * a result of `generateText` or of a language model, the bare list of their calls, or the parts of their streams. Calls
 * that the provider executes itself are in `other`.
 */
export function aiSdkProtocol(
  registry: ToolRegistry<never>,
): ProviderProtocol<Record<string, AiSdkToolDefinition>, AiSdkMessage> {
  return createProtocol(AI_SDK_SHAPE, registry);
}

const AI_SDK_SHAPE: ProviderShape<Record<string, AiSdkToolDefinition>, AiSdkMessage> = {
  format: "ai-sdk",
  strict: COMMON_STRICT,
  writeTools: (tools) => Object.fromEntries(tools.map((tool) => [tool.name, writeDefinition(tool)])),
  readMessage(message, turn) {
    if (Array.isArray(message)) {
      readParts(message, "", turn);
      return undefined;
    }
    // A model's result has no role, as it is always the assistant's.
    const isResult = isJsonObject(message) && message["role"] === undefined && "content" in message;
    const { content, finishReason } = isResult ? message : expectAssistantMessage(message, "");
    if (typeof content === "string") turn.addText(content);
    else readParts(content, "/content", turn);
    return readFinishReason(finishReason);
  },
  readEvent: readAiSdkPart,
  writeTurn: ({ parts }) => [{ role: "assistant", content: parts.map(writePart) }],
  writeResults: (results) => [{ role: "tool", content: results.map(writeResult) }],
};

/** Writes a tool without an `execute` function. */
function writeDefinition({ description, inputSchema, strict }: OfferedTool): AiSdkToolDefinition {
  return {
    ...(description !== undefined && { description }),
    inputSchema: toAiSdkSchema(inputSchema),
    ...(strict && { strict }),
  };
}

function readParts(value: unknown, pointer: string, turn: TurnCollector): void {
  for (const [index, part] of expectObjects(value, pointer).entries()) {
    turn.confirm();
    if (part["type"] === "text") turn.addText(part["text"]);
    else if (part["type"] === "reasoning") turn.opaque.add(toReasoning(part));
    else if (part["type"] === "tool-call") readAiSdkCall(part, `${pointer}/${index}`, turn);
    else if (part["type"] === "tool-approval-request") {
      turn.addOther("tool-approval-request", part, part["approvalId"], part["toolName"]);
    }
  }
}

function writePart(part: WrittenPart): AiSdkAssistantMessage["content"][number] {
  if ("text" in part) return { type: "text", text: part.text };
  if ("opaque" in part) return part.opaque as unknown as AiSdkReasoning;
  const { id, name, arguments: args, providerData } = part.call;
  const options = providerData?.["providerOptions"];
  return {
    type: "tool-call",
    toolCallId: id,
    toolName: name,
    input: toArgumentsObject(args),
    ...(isJsonObject(options) && { providerOptions: options as AiSdkProviderOptions }),
  };
}

function writeResult({ callId, toolName, content, isError }: ToolResult): AiSdkToolResult {
  return { type: "tool-result", toolCallId: callId, toolName, output: toAiSdkOutput(content, isError) };
}

/** Converts the content of a result. An error is text only, as the SDK has no other form. */
export function toAiSdkOutput(content: readonly ContentBlock[], isError: boolean): AiSdkOutput {
  if (isError) return { type: "error-text", value: toVisibleText(content) };
  const shown = shownContent(content);
  if (shown.every((block) => block.type === "text")) return { type: "text", value: toVisibleText(content) };
  return {
    type: "content",
    value: shown.map((block) => {
      if (block.type === "text") return { type: "text", text: block.text };
      return { type: "file", mediaType: block.mimeType, data: { type: "data", data: block.data } };
    }),
  };
}
