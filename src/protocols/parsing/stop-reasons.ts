import type { Format } from "../formats.ts";

/**
 * What a stop reason says about the calls of its message: they are complete; the message was cut off, so the last one
 * may be half a call; or neither is certain.
 */
export type Ending = "whole" | "cut off" | "unclear";

/** The stop reasons that providers document. A reason that is not listed is unclear. */
export const STOP_REASONS: Readonly<Record<Format, Readonly<Record<string, Ending>>>> = {
  native: {},
  openai: {
    stop: "whole",
    tool_calls: "whole",
    function_call: "whole",
    length: "cut off",
    content_filter: "cut off",
  },
  "openai-responses": {
    completed: "whole",
    incomplete: "cut off",
    max_output_tokens: "cut off",
    max_messages: "cut off",
    content_filter: "cut off",
    steered: "cut off",
    cancelled: "cut off",
    in_progress: "cut off",
    queued: "cut off",
  },
  anthropic: {
    end_turn: "whole",
    tool_use: "whole",
    pause_turn: "whole",
    compaction: "whole",
    // The sequence may have been part of a call's arguments.
    stop_sequence: "unclear",
    max_tokens: "cut off",
    model_context_window_exceeded: "cut off",
    refusal: "cut off",
  },
  "ai-sdk": {
    stop: "whole",
    "tool-calls": "whole",
    other: "unclear",
    length: "cut off",
    "content-filter": "cut off",
    error: "cut off",
    interrupted: "cut off",
    abort: "cut off",
  },
  google: {
    STOP: "whole",
    FINISH_REASON_UNSPECIFIED: "unclear",
    OTHER: "cut off",
    MAX_TOKENS: "cut off",
    SAFETY: "cut off",
    RECITATION: "cut off",
    LANGUAGE: "cut off",
    BLOCKLIST: "cut off",
    PROHIBITED_CONTENT: "cut off",
    SPII: "cut off",
    IMAGE_SAFETY: "cut off",
    MALFORMED_FUNCTION_CALL: "cut off",
    MALFORMED_RESPONSE: "cut off",
    UNEXPECTED_TOOL_CALL: "cut off",
    TOO_MANY_TOOL_CALLS: "cut off",
    MISSING_THOUGHT_SIGNATURE: "cut off",
  },
  cohere: {
    COMPLETE: "whole",
    TOOL_CALL: "whole",
    STOP_SEQUENCE: "unclear",
    MAX_TOKENS: "cut off",
    ERROR: "cut off",
    ERROR_TOXIC: "cut off",
    TIMEOUT: "cut off",
  },
  bedrock: {
    end_turn: "whole",
    tool_use: "whole",
    stop_sequence: "unclear",
    max_tokens: "cut off",
    model_context_window_exceeded: "cut off",
    guardrail_intervened: "cut off",
    content_filtered: "cut off",
    malformed_model_output: "cut off",
    malformed_tool_use: "cut off",
  },
};

/** The stop reasons, of all formats, that say that the message has calls. The compiler does not report one that is missing. */
export const CALLING: ReadonlySet<string> = new Set([
  "tool_calls",
  "function_call",
  "tool_use",
  "tool-calls",
  "TOOL_CALL",
]);

/** The events that end a stream, by format. The native format has no such event. */
export const TERMINALS: Readonly<Record<Format, string | undefined>> = {
  native: undefined,
  openai: "finish_reason",
  "openai-responses": "response.completed",
  anthropic: "message_stop",
  "ai-sdk": "finish",
  google: "finishReason",
  cohere: "message-end",
  bedrock: "messageStop",
};

/**
 * Whether pieces of calls may follow {@link TERMINALS} in a format's streams: then only the end of the stream shows that a call
 * has no arguments.
 */
export const LATE_PIECES: Readonly<Record<Format, boolean>> = {
  native: false,
  openai: true,
  "openai-responses": false,
  anthropic: false,
  "ai-sdk": false,
  google: false,
  cohere: false,
  bedrock: false,
};

/** Returns what a stop reason says. A message without one is complete by itself, such as one from a conversation. */
export function endingOf(format: Format, reason: string | undefined): Ending {
  if (reason === undefined) return "whole";
  const reasons = STOP_REASONS[format];
  return Object.hasOwn(reasons, reason) ? (reasons[reason] ?? "unclear") : "unclear";
}
