import type { ToolRegistry } from "../../engine/registry.ts";
import { createProtocol } from "../create-protocol.ts";
import { toVisibleText } from "../parsing/text.ts";
import type { ProviderProtocol } from "../protocol.ts";
import type { ProviderShape } from "../provider-shape.ts";
import { COHERE_SHAPE, type CohereTool } from "./cohere-chat.ts";
import { type OpenAiToolCall, writeCall } from "./openai/chat.ts";

/** An assistant's calls, and its plan for them, or its text, as Cohere's SDK names them. */
export interface CohereSdkAssistantMessage {
  readonly role: "assistant";
  readonly content?: string;
  readonly toolPlan?: string;
  readonly toolCalls?: OpenAiToolCall[];
}

/** The result of one call, as Cohere's SDK names it. */
export interface CohereSdkToolMessage {
  readonly role: "tool";
  readonly toolCallId: string;
  readonly content: string;
}

type CohereSdkMessage = CohereSdkAssistantMessage | CohereSdkToolMessage;

/**
 * Cohere Chat, version 2, for the provider's SDK (the package `cohere-ai`). It writes messages as the SDK takes them, and
 * reads the same as `cohereChatProtocol`.
 */
export function cohereSdkProtocol(
  registry: ToolRegistry<never>,
): ProviderProtocol<CohereTool[], CohereSdkMessage> {
  return createProtocol(COHERE_SDK_SHAPE, registry);
}

const COHERE_SDK_SHAPE: ProviderShape<CohereTool[], CohereSdkMessage> = {
  ...COHERE_SHAPE,
  writeTurn: ({ calls, text }) => [
    calls.length === 0
      ? { role: "assistant", content: text }
      : { role: "assistant", ...(text !== "" && { toolPlan: text }), toolCalls: calls.map(writeCall) },
  ],
  writeResults: (results) =>
    results.map(({ callId, content }) => ({
      role: "tool",
      toolCallId: callId,
      content: toVisibleText(content),
    })),
};
