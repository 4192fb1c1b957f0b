/** The formats of assistant messages, in the order in which they are listed. This file loads no protocol. */
export const FORMATS = [
  "native",
  "openai",
  "openai-responses",
  "anthropic",
  "ai-sdk",
  "google",
  "cohere",
  "bedrock",
] as const;

/** The name of a message's format: one of {@link FORMATS}. */
export type Format = (typeof FORMATS)[number];
