import type { ToolRegistry } from "../engine/registry.ts";
import { aiSdkProtocol } from "./ai-sdk.ts";
import { anthropicMessagesProtocol } from "./anthropic-messages.ts";
import { bedrockConverseProtocol } from "./bedrock-converse.ts";
import { cohereChatProtocol } from "./cohere-chat.ts";
import type { Format } from "./format.ts";
import { googleGenerateProtocol } from "./google-generate.ts";
import { nativeProtocol } from "./native.ts";
import { openAiChatProtocol } from "./openai-chat.ts";
import { openAiResponsesProtocol } from "./openai-responses.ts";
import type { Protocol } from "./protocol.ts";

/** The protocol of each format. */
export const PROTOCOLS: Readonly<Record<Format, (registry: ToolRegistry) => Protocol>> = {
  native: nativeProtocol,
  openai: openAiChatProtocol,
  "openai-responses": openAiResponsesProtocol,
  anthropic: anthropicMessagesProtocol,
  "ai-sdk": aiSdkProtocol,
  google: googleGenerateProtocol,
  cohere: cohereChatProtocol,
  bedrock: bedrockConverseProtocol,
};

/** The names of all formats, in the order in which they are told. */
export const FORMATS: readonly Format[] = Object.freeze(Object.keys(PROTOCOLS) as Format[]);
