import { isJsonObject, type JsonObject } from "../json/value.ts";

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

/** Returns the formats that match a message: none if it is unknown, several if it is ambiguous. */
export function detectMessageFormats(message: unknown): readonly Format[] {
  if (Array.isArray(message)) {
    return select(LIST_ITEMS, (test) => message.some((item) => isJsonObject(item) && test(item)));
  }
  if (!isJsonObject(message)) return [];
  const found = select(MESSAGES, (test) => test(message));
  if (found.length > 0 || !isAssistant(message)) return found;
  // Text without calls is the same in several formats.
  const { content } = message;
  const isText = typeof content === "string" || (Array.isArray(content) && content.every(isTextBlock));
  return isText ? ["openai", "anthropic", "ai-sdk"] : [];
}

/** Returns the formats that match the first event of a stream that identifies any. */
export function detectStreamFormats(events: readonly unknown[]): readonly Format[] {
  for (const event of events) {
    const found = isJsonObject(event) ? select(EVENTS, (test) => test(event)) : [];
    if (found.length > 0) return found;
  }
  return [];
}

/** Returns whether an event identifies this format. Every valid stream has such an event. */
export function isEventOf(format: Format, event: JsonObject): boolean {
  return EVENTS[format](event);
}

function select(
  tests: Readonly<Partial<Record<Format, Test>>>,
  matches: (test: Test) => boolean,
): readonly Format[] {
  return (Object.entries(tests) as [Format, Test][]).flatMap(([format, test]) =>
    matches(test) ? [format] : [],
  );
}

/** Returns whether a value may be a message of a format. */
type Test = (message: JsonObject) => boolean;

const hasList = (name: string): Test => {
  return (message) => Array.isArray(message[name]);
};

const isAssistant: Test = ({ role }) => role === "assistant";

const hasCalls: Test = ({ tool_calls: calls, function_call: legacy }) => {
  return calls !== undefined || legacy !== undefined;
};

/** Tests whether the content has a block that identifies a format. */
const hasBlock = (isOwn: Test): Test => {
  return ({ content }) =>
    Array.isArray(content) && content.some((block) => isJsonObject(block) && isOwn(block));
};

const isOneOf = (...types: readonly string[]): Test => {
  return ({ type }) => typeof type === "string" && types.includes(type);
};

const isTextBlock = (block: unknown): boolean => isJsonObject(block) && block["type"] === "text";

const isToolCallPart = isOneOf("tool-call");

const isAnthropicBlock = isOneOf(
  "tool_use",
  "thinking",
  "redacted_thinking",
  "server_tool_use",
  "mcp_tool_use",
);

const isResponsesItem = isOneOf("function_call", "reasoning", "message", "custom_tool_call");

const isBedrockBlock: Test = ({ type, toolUse, text }) =>
  toolUse !== undefined || (type === undefined && text !== undefined);

/** A response to a prompt that was blocked has no candidates. */
const isGoogleResponse: Test = (message) =>
  hasList("candidates")(message) || isJsonObject(message["promptFeedback"]);

/**
 * Tests that identify the messages of a format. An assistant's text without calls is the same in several formats. A response
 * with `choices` is one of `openai` for as long as no test of another format says otherwise.
 */
const MESSAGES: Readonly<Record<Format, Test>> = {
  native: hasList("toolCalls"),
  openai: (message) =>
    hasList("choices")(message) ||
    isOllama(message) ||
    (isAssistant(message) && hasCalls(message) && !isCohere(message)),
  "openai-responses": (message) =>
    hasList("output")(message) || isOneOf("function_call", "custom_tool_call")(message),
  anthropic: (message) =>
    isAssistant(message) && (message["type"] === "message" || hasBlock(isAnthropicBlock)(message)),
  "ai-sdk": hasBlock(isToolCallPart),
  google: (message) =>
    isGoogleResponse(message) || (message["role"] === "model" && hasList("parts")(message)),
  cohere: (message) => isCohere(message) || (isAssistant(asObject(message["message"])) && !isOllama(message)),
  bedrock: (message) =>
    isJsonObject(message["output"]) || (isAssistant(message) && hasBlock(isBedrockBlock)(message)),
};

const isOllama: Test = ({ message, done }) => isAssistant(asObject(message)) && typeof done === "boolean";

const isCohere: Test = (message) => isAssistant(message) && message["tool_plan"] !== undefined;

/** Tests that identify the items of a bare list. */
const LIST_ITEMS: Readonly<Partial<Record<Format, Test>>> = {
  native: ({ name, arguments: args, type }) => name !== undefined && args !== undefined && type === undefined,
  "openai-responses": isResponsesItem,
  "ai-sdk": isToolCallPart,
  google: isGoogleResponse,
};

/**
 * Tests that identify the events of a format: to detect it, and to refuse streams of other formats in `isEventOf`. So every valid
 * stream has to have an event that matches, even if those of another format match, too: then it is ambiguous.
 */
const EVENTS: Readonly<Record<Format, Test>> = {
  native: (event) =>
    MESSAGES.native(event) ||
    LIST_ITEMS.native?.(event) === true ||
    (isAssistant(event) && typeof event["text"] === "string"),
  openai: (event) => hasList("choices")(event) || isOllama(event),
  "openai-responses": ({ type }) => typeof type === "string" && type.startsWith("response."),
  anthropic: ({ type }) => typeof type === "string" && /^(?:message|content_block)_(?:st|delta)/.test(type),
  "ai-sdk": isOneOf(
    "stream-start",
    "start",
    "start-step",
    "text-start",
    "text-delta",
    "reasoning-start",
    "tool-input-start",
    "tool-input-available",
    "tool-input-error",
    "tool-call",
  ),
  google: isGoogleResponse,
  cohere: isOneOf(
    "message-start",
    "tool-plan-delta",
    "tool-call-start",
    "content-start",
    "content-delta",
    "message-end",
  ),
  bedrock: (event) =>
    Object.keys(event).some((key) =>
      /^(?:message(?:Start|Stop)|contentBlock(?:Start|Delta|Stop))$/.test(key),
    ),
};

function asObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}
