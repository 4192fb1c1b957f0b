import type { ToolRegistry } from "../../engine/registry.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import { createProtocol } from "../create-protocol.ts";
import {
  expectAssistantMessage,
  expectNumber,
  expectObject,
  expectString,
  readContentText,
  readId,
  readReason,
} from "../parsing/shape.ts";
import type { TurnCollector } from "../parsing/turn-collector.ts";
import type { ProviderProtocol } from "../protocol.ts";
import type { ProviderShape } from "../provider-shape.ts";
import { type OpenAiToolCall, type OpenAiToolMessage, writeCall, writeToolMessages } from "./openai/chat.ts";
import { readChatCalls } from "./openai/chat-message.ts";

/** The definition of a tool (Cohere API reference, "Chat", version 2). Strictness is an option of the request. */
export interface CohereTool {
  readonly type: "function";
  readonly function: {
    readonly name: string;
    readonly description: string;
    readonly parameters: Record<string, unknown>;
  };
}

/** An assistant's calls, and its plan for them, or its text. */
export interface CohereAssistantMessage {
  readonly role: "assistant";
  readonly content?: string;
  readonly tool_plan?: string;
  readonly tool_calls?: OpenAiToolCall[];
}

/**
 * Cohere Chat, version 2. Reads an assistant message, the response that contains it, or its events, from the API or from
 * the provider's SDK, which changes the names of members (`toolCalls`).
 */
export function cohereChatProtocol(
  registry: ToolRegistry<never>,
): ProviderProtocol<CohereTool[], CohereAssistantMessage | OpenAiToolMessage> {
  return createProtocol(COHERE_SHAPE, registry);
}

/** The shape of the API. */
export const COHERE_SHAPE: ProviderShape<CohereTool[], CohereAssistantMessage | OpenAiToolMessage> = {
  format: "cohere",
  writeTools: (tools) =>
    tools.map(({ name, description, inputSchema }) => ({
      type: "function",
      function: { name, description, parameters: { ...inputSchema } },
    })),
  readMessage(message, turn) {
    if (!isJsonObject(message) || message["message"] === undefined) return readAssistant(message, "", turn);
    readAssistant(message["message"], "/message", turn);
    return readReason(either(message, "finish_reason", "finishReason"));
  },
  readEvent: readCohereEvent,
  writeTurn: (calls, text) => [
    calls.length === 0
      ? { role: "assistant", content: text }
      : { role: "assistant", ...(text !== "" && { tool_plan: text }), tool_calls: calls.map(writeCall) },
  ],
  writeResults: writeToolMessages,
};

/** Returns a member under its name in the API, or under that in the SDK. */
function either(object: JsonObject, name: string, sdkName: string): JsonValue | undefined {
  return object[name] ?? object[sdkName];
}

function readAssistant(value: unknown, pointer: string, turn: TurnCollector): undefined {
  const message = expectAssistantMessage(value, pointer);
  turn.addText(either(message, "tool_plan", "toolPlan"));
  turn.addText(readContentText(message["content"]));
  readChatCalls(either(message, "tool_calls", "toolCalls"), `${pointer}/tool_calls`, turn);
}

/** Reads an event of a stream (Cohere, "Streaming responses"). */
function readCohereEvent(event: JsonObject, turn: TurnCollector): void {
  const message = messageOf(event);
  switch (event["type"]) {
    case "tool-plan-delta":
      turn.addText(either(message, "tool_plan", "toolPlan"));
      break;
    case "content-start":
    case "content-delta":
      turn.addText(isJsonObject(message["content"]) ? message["content"]["text"] : undefined);
      break;
    case "tool-call-start": {
      turn.confirm();
      const { id, name, args } = readPiece(message);
      const key = expectNumber(event["index"], "/index");
      turn.open(key, { id: readId(id, "/delta/message/tool_calls/id"), name, arguments: "" });
      turn.append(key, args);
      break;
    }
    case "tool-call-delta":
      turn.append(expectNumber(event["index"], "/index"), readPiece(message).args);
      break;
    case "tool-call-end":
      turn.close(expectNumber(event["index"], "/index"));
      break;
    case "message-end": {
      const delta = isJsonObject(event["delta"]) ? event["delta"] : {};
      turn.stop(readReason(either(delta, "finish_reason", "finishReason")));
      turn.finish();
    }
  }
}

function messageOf({ delta }: JsonObject): JsonObject {
  const message = isJsonObject(delta) ? delta["message"] : undefined;
  return isJsonObject(message) ? message : {};
}

function readPiece(message: JsonObject): {
  readonly id: unknown;
  readonly name: string;
  readonly args: string;
} {
  const pointer = "/delta/message/tool_calls";
  const { id, function: called } = expectObject(either(message, "tool_calls", "toolCalls"), pointer);
  const { name, arguments: args } = expectObject(called, `${pointer}/function`);
  return {
    id,
    name: expectString(name ?? "", `${pointer}/function/name`),
    args: expectString(args ?? "", `${pointer}/function/arguments`),
  };
}
