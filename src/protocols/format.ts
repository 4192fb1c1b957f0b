/** The name of a message's format. */
export type Format =
  | "native"
  | "openai"
  | "openai-responses"
  | "anthropic"
  | "ai-sdk"
  | "google"
  | "cohere"
  | "bedrock";
