import type { ToolRegistry } from "../engine/registry.ts";
import type { Format } from "./formats.ts";
import type { ProviderProtocol } from "./protocol.ts";
import { aiSdkProtocol } from "./providers/ai-sdk.ts";
import { anthropicMessagesProtocol } from "./providers/anthropic.ts";
import { bedrockConverseProtocol } from "./providers/bedrock-converse.ts";
import { cohereChatProtocol } from "./providers/cohere.ts";
import { googleGenerateProtocol } from "./providers/google.ts";
import { nativeProtocol } from "./providers/native.ts";
import { openAiChatProtocol } from "./providers/openai/chat.ts";
import { openAiResponsesProtocol } from "./providers/openai/responses.ts";

/** Creates the protocol of each format. Importing this file loads all of them. */
export const PROTOCOLS: Readonly<Record<Format, (registry: ToolRegistry<never>) => ProviderProtocol>> = {
  native: nativeProtocol,
  openai: openAiChatProtocol,
  "openai-responses": openAiResponsesProtocol,
  anthropic: anthropicMessagesProtocol,
  "ai-sdk": aiSdkProtocol,
  google: googleGenerateProtocol,
  cohere: cohereChatProtocol,
  bedrock: bedrockConverseProtocol,
};
