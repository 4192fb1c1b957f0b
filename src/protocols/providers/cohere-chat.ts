import type { ToolRegistry } from "../../engine/registry.ts";
import { isJsonObject, type JsonObject } from "../../json/value.ts";
import { createProtocol } from "../create-protocol.ts";
import type { CallCollector } from "../parsing/call-collector.ts";
import { expectAssistantMessage, expectNumber, expectObject, expectString } from "../parsing/shape.ts";
import type { AssistantTurn, ProviderProtocol } from "../protocol.ts";
import type { ProviderShape } from "../provider-shape.ts";
import {
  type OpenAiToolCall,
  type OpenAiToolMessage,
  readChatCalls,
  writeCall,
  writeToolMessages,
} from "./openai/chat.ts";

/** The definition of a tool (Cohere API reference, "Chat", version 2). Strictness is an option of the request. */
export interface CohereTool {
  readonly type: "function";
  readonly function: {
    readonly name: string;
    readonly description: string;
    readonly parameters: Record<string, unknown>;
  };
}

/** An assistant's calls, and its plan for them. */
export interface CohereAssistantMessage {
  readonly role: "assistant";
  readonly tool_plan?: string;
  readonly tool_calls: OpenAiToolCall[];
}

/** Cohere Chat, version 2. Reads an assistant message, the response that contains it, or its events. */
export function cohereChatProtocol(
  registry: ToolRegistry<never>,
): ProviderProtocol<CohereTool[], CohereAssistantMessage | OpenAiToolMessage> {
  return createProtocol(COHERE_SHAPE, registry);
}

const COHERE_SHAPE: ProviderShape<CohereTool[], CohereAssistantMessage | OpenAiToolMessage> = {
  format: "cohere",
  writeTools: (tools) =>
    tools.map(({ name, description, inputSchema }) => ({
      type: "function",
      function: { name, description, parameters: { ...inputSchema } },
    })),
  readMessage(message) {
    if (isJsonObject(message) && message["message"] !== undefined) {
      return readAssistant(message["message"], "/message");
    }
    return readAssistant(message, "");
  },
  readEvent: readCohereEvent,
  writeTurn: (calls, text) => [
    { role: "assistant", ...(text !== "" && { tool_plan: text }), tool_calls: calls.map(writeCall) },
  ],
  writeResults: writeToolMessages,
};

function readAssistant(value: unknown, pointer: string): AssistantTurn {
  const { tool_plan: plan, content, tool_calls: list } = expectAssistantMessage(value, pointer);
  const parts = Array.isArray(content) ? (content as readonly unknown[]) : [{ text: content }];
  const texts = [plan, ...parts.map((part) => (isJsonObject(part) ? part["text"] : undefined))];
  return {
    text: texts.filter((text) => typeof text === "string").join(""),
    calls: readChatCalls(list, `${pointer}/tool_calls`),
  };
}

/** Reads an event of a stream (Cohere, "Streaming responses"). */
function readCohereEvent(event: JsonObject, calls: CallCollector): void {
  const message = messageOf(event);
  switch (event["type"]) {
    case "tool-plan-delta":
      calls.addText(message["tool_plan"]);
      break;
    case "content-delta":
      calls.addText(isJsonObject(message["content"]) ? message["content"]["text"] : undefined);
      break;
    case "tool-call-start": {
      const { id, name, args } = readPiece(message);
      const key = expectNumber(event["index"], "/index");
      // A call without arguments has no delta for them.
      calls.open(key, expectString(id, "/delta/message/tool_calls/id"), name, "{}");
      calls.append(key, args);
      break;
    }
    case "tool-call-delta":
      calls.append(expectNumber(event["index"], "/index"), readPiece(message).args);
      break;
    case "tool-call-end":
      calls.close(expectNumber(event["index"], "/index"));
  }
}

function messageOf({ delta }: JsonObject): JsonObject {
  const message = isJsonObject(delta) ? delta["message"] : undefined;
  return isJsonObject(message) ? message : {};
}

function readPiece({ tool_calls: piece }: JsonObject): {
  readonly id: unknown;
  readonly name: string;
  readonly args: string;
} {
  const pointer = "/delta/message/tool_calls";
  const { id, function: called } = expectObject(piece, pointer);
  const { name = "", arguments: args = "" } = expectObject(called, `${pointer}/function`);
  return {
    id,
    name: expectString(name, `${pointer}/function/name`),
    args: expectString(args, `${pointer}/function/arguments`),
  };
}
