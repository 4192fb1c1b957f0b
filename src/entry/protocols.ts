// Reading and writing a provider's messages

export { ProtocolError } from "../protocols/parsing/protocol-error.ts";
export type {
  ProviderProtocol,
  ToolOffer,
  ToolSetOptions,
  ToResultsOptions,
  ToToolsOptions,
} from "../protocols/protocol.ts";
export type { CallStream } from "../protocols/streaming/call-stream.ts";
export type { ToolProblem } from "../protocols/strict/offer-tools.ts";
export type { AssistantTurn, OtherCall, TurnCall } from "../protocols/turn.ts";
export type { SaidTurn } from "../protocols/written-turn.ts";

// Sandgate's own format

export { nativeProtocol } from "../protocols/providers/native.ts";

// OpenAI Chat Completions

export {
  type OpenAiAssistantMessage,
  type OpenAiCustomTool,
  type OpenAiCustomToolCall,
  type OpenAiFunctionTool,
  type OpenAiTool,
  type OpenAiToolCall,
  type OpenAiToolMessage,
  openAiChatProtocol,
} from "../protocols/providers/openai/chat.ts";

// OpenAI Responses

export {
  type OpenAiReasoning,
  type OpenAiResponsesContent,
  type OpenAiResponsesCustomTool,
  type OpenAiResponsesFunctionTool,
  type OpenAiResponsesItem,
  type OpenAiResponsesTool,
  openAiResponsesProtocol,
} from "../protocols/providers/openai/responses.ts";

// Anthropic Messages

export {
  type AnthropicAssistantMessage,
  type AnthropicImage,
  type AnthropicText,
  type AnthropicThinking,
  type AnthropicTool,
  type AnthropicToolResult,
  type AnthropicToolUse,
  type AnthropicUserMessage,
  anthropicMessagesProtocol,
} from "../protocols/providers/anthropic/messages.ts";

// AI SDK 7

export {
  type AiSdkAssistantMessage,
  type AiSdkProviderOptions,
  type AiSdkReasoning,
  type AiSdkToolCall,
  type AiSdkToolDefinition,
  type AiSdkToolMessage,
  type AiSdkToolResult,
  aiSdkProtocol,
} from "../protocols/providers/ai-sdk/ai-sdk.ts";
export type { AiSdkContent, AiSdkOutput } from "../protocols/providers/ai-sdk/output.ts";
export type { AiSdkSchema } from "../protocols/providers/ai-sdk/schema.ts";
export {
  type AiSdkJsonOutput,
  type AiSdkTool,
  AiSdkToolError,
  type AiSdkToolSet,
  aiSdkToolSet,
} from "../protocols/providers/ai-sdk/tool-set.ts";

// OpenAI Agents

export {
  type AgentsCallDetails,
  type AgentsModelInput,
  type AgentsTool,
  type AgentsToolSet,
  agentsToolSet,
} from "../protocols/providers/openai/agents-tool-set.ts";

// Google Gemini

export {
  type GoogleContent,
  type GooglePart,
  type GoogleTool,
  googleGenerateProtocol,
} from "../protocols/providers/google/generate.ts";

// Cohere Chat

export {
  type CohereAssistantMessage,
  type CohereTool,
  cohereChatProtocol,
} from "../protocols/providers/cohere-chat.ts";
export {
  type CohereSdkAssistantMessage,
  type CohereSdkToolMessage,
  cohereSdkProtocol,
} from "../protocols/providers/cohere-sdk.ts";

// Amazon Bedrock Converse

export {
  type BedrockBlock,
  type BedrockDocument,
  type BedrockMessage,
  type BedrockTool,
  bedrockConverseProtocol,
} from "../protocols/providers/bedrock-converse.ts";
