// Reading and writing a provider's messages

export type { CallStream } from "../protocols/call-stream.ts";
export { ProtocolError } from "../protocols/parsing/shape.ts";
export type { ProviderProtocol, ToolOffer, ToResultsOptions, ToToolsOptions } from "../protocols/protocol.ts";
export type { ToolProblem } from "../protocols/strict/offer-tools.ts";
export type { AssistantTurn, TurnCall } from "../protocols/turn.ts";

// Sandgate's own format

export { nativeProtocol } from "../protocols/providers/native.ts";

// OpenAI Chat Completions

export { openAiChatProtocol } from "../protocols/providers/openai/chat.ts";

// OpenAI Responses

export { openAiResponsesProtocol } from "../protocols/providers/openai/responses.ts";

// Anthropic Messages

export { anthropicMessagesProtocol } from "../protocols/providers/anthropic.ts";

// AI SDK 7

export { aiSdkProtocol } from "../protocols/providers/ai-sdk.ts";
export { AiSdkToolError, type AiSdkToolSet, aiSdkToolSet } from "../protocols/providers/ai-sdk-tool-set.ts";

// Tools of other libraries

export { wrapTools } from "../protocols/wrapped-tools.ts";

// OpenAI Agents

export { type AgentsToolSet, agentsToolSet } from "../protocols/providers/openai/agents-tool-set.ts";

// Google Gemini

export { googleGenerateProtocol } from "../protocols/providers/google.ts";

// Cohere Chat

export { cohereChatProtocol, cohereSdkProtocol } from "../protocols/providers/cohere.ts";

// Amazon Bedrock Converse

export { bedrockConverseProtocol } from "../protocols/providers/bedrock-converse.ts";
