// Reading and writing a provider's messages

export { ProtocolError } from "../protocols/parsing/protocol-error.ts";
export type { ProviderProtocol, ToolOffer, ToResultsOptions, ToToolsOptions } from "../protocols/protocol.ts";
export type { CallStream } from "../protocols/streaming/call-stream.ts";
export type { ToolProblem } from "../protocols/strict/offer-tools.ts";
export type { AssistantTurn, TurnCall } from "../protocols/turn.ts";

// Sandgate's own format

export { nativeProtocol } from "../protocols/providers/native.ts";

// OpenAI Chat Completions

export { openAiChatProtocol } from "../protocols/providers/openai/chat.ts";

// OpenAI Responses

export { openAiResponsesProtocol } from "../protocols/providers/openai/responses.ts";

// Anthropic Messages

export { anthropicMessagesProtocol } from "../protocols/providers/anthropic/messages.ts";

// AI SDK 7

export { aiSdkProtocol } from "../protocols/providers/ai-sdk/ai-sdk.ts";
export { AiSdkToolError, type AiSdkToolSet, aiSdkToolSet } from "../protocols/providers/ai-sdk/tool-set.ts";

// OpenAI Agents

export { type AgentsToolSet, agentsToolSet } from "../protocols/providers/openai/agents-tool-set.ts";

// Google Gemini

export { googleGenerateProtocol } from "../protocols/providers/google/generate.ts";

// Cohere Chat

export { cohereChatProtocol } from "../protocols/providers/cohere-chat.ts";
export { cohereSdkProtocol } from "../protocols/providers/cohere-sdk.ts";

// Amazon Bedrock Converse

export { bedrockConverseProtocol } from "../protocols/providers/bedrock-converse.ts";
