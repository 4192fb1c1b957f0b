import type { ToolRegistry } from "../../engine/registry.ts";
import { equalJson, isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import { toVisibleText } from "../content.ts";
import { createProtocol } from "../create-protocol.ts";
import {
  expectAssistantMessage,
  expectNumber,
  expectObject,
  expectString,
  ProtocolError,
  readContentText,
  readId,
  readReason,
} from "../parsing/shape.ts";
import type { TurnCollector } from "../parsing/turn-collector.ts";
import { contradiction } from "../parsing/values.ts";
import type { ProviderProtocol, ProviderShape } from "../protocol.ts";
import { type OpenAiToolCall, type OpenAiToolMessage, writeCall } from "./openai/chat.ts";
import { readChatCalls } from "./openai/chat-message.ts";

/** The definition of a tool (Cohere API reference, "Chat", version 2). Strictness is an option of the request. */
interface CohereTool {
  readonly type: "function";
  readonly function: {
    readonly name: string;
    readonly description?: string;
    readonly parameters: Record<string, unknown>;
  };
}

/** An assistant's calls, and its plan for them, or its text. */
interface CohereAssistantMessage {
  readonly role: "assistant";
  readonly content?: string;
  readonly tool_plan?: string;
  readonly tool_calls?: OpenAiToolCall[];
}

/** An assistant's calls, and its plan for them, or its text, as Cohere's SDK names them. */
export interface CohereSdkAssistantMessage {
  readonly role: "assistant";
  readonly content?: string;
  readonly toolPlan?: string;
  readonly toolCalls?: OpenAiToolCall[];
}

/** The result of one call, as Cohere's SDK names it. */
export interface CohereSdkToolMessage {
  readonly role: "tool";
  readonly toolCallId: string;
  readonly content: string;
}

type CohereSdkMessage = CohereSdkAssistantMessage | CohereSdkToolMessage;

/**
 * Cohere Chat, version 2. Reads an assistant message, the response that contains it, or its events, from the API or from
 * the provider's SDK, which changes the names of members (`toolCalls`).
 */
export function cohereChatProtocol(
  registry: ToolRegistry<never>,
): ProviderProtocol<CohereTool[], CohereAssistantMessage | OpenAiToolMessage> {
  return createProtocol(COHERE_SHAPE, registry);
}

/**
 * Cohere Chat, version 2, for the provider's SDK (the package `cohere-ai`). It writes messages as the SDK takes them, and
 * reads the same as `cohereChatProtocol`.
 */
export function cohereSdkProtocol(
  registry: ToolRegistry<never>,
): ProviderProtocol<CohereTool[], CohereSdkMessage> {
  return createProtocol(COHERE_SDK_SHAPE, registry);
}

/** The shape of the API. */
const COHERE_SHAPE: ProviderShape<CohereTool[], CohereAssistantMessage | OpenAiToolMessage> = {
  format: "cohere",
  writeTools: (tools) =>
    tools.map(({ name, description, inputSchema }) => ({
      type: "function",
      function: { name, ...(description !== undefined && { description }), parameters: { ...inputSchema } },
    })),
  readMessage(message, turn) {
    if (!isJsonObject(message) || message["message"] === undefined) return readAssistant(message, "", turn);
    readAssistant(message["message"], "/message", turn);
    return readReason(either(message, "finish_reason", "finishReason"));
  },
  readEvent: readCohereEvent,
  writeTurn: ({ calls, text }) => [
    calls.length === 0
      ? { role: "assistant", content: text }
      : { role: "assistant", ...(text !== "" && { tool_plan: text }), tool_calls: calls.map(writeCall) },
  ],
  writeResults: (results) =>
    results.map(({ callId, content }) => ({
      role: "tool",
      tool_call_id: callId,
      content: toVisibleText(content),
    })),
};

const COHERE_SDK_SHAPE: ProviderShape<CohereTool[], CohereSdkMessage> = {
  ...COHERE_SHAPE,
  writeTurn: ({ calls, text }) => [
    calls.length === 0
      ? { role: "assistant", content: text }
      : { role: "assistant", ...(text !== "" && { toolPlan: text }), toolCalls: calls.map(writeCall) },
  ],
  writeResults: (results) =>
    results.map(({ callId, content }) => ({
      role: "tool",
      toolCallId: callId,
      content: toVisibleText(content),
    })),
};

/** Returns a member under its name in the API, or under that in the SDK. @throws {ProtocolError} if both differ. */
function either(object: JsonObject, name: string, sdkName: string): JsonValue | undefined {
  const { [name]: own, [sdkName]: its } = object;
  const isEmpty = (value: JsonValue | undefined): boolean =>
    value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0);
  if (isEmpty(its)) return own;
  if (isEmpty(own)) return its;
  if (!equalJson(own as JsonValue, its as JsonValue)) throw contradiction(`/${sdkName}`);
  return own;
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
      if (turn.isFinished) throw new ProtocolError("", "starts a call after the end of the message");
      turn.confirm();
      const { id, name, args } = readPiece(message);
      const key = expectNumber(event["index"], "/index");
      turn.open(key, { id, name, arguments: "" });
      turn.append(key, args, `${CALL}/function/arguments`);
      break;
    }
    case "tool-call-delta": {
      const { id, name, args } = readPiece(message);
      const key = expectNumber(event["index"], "/index");
      turn.append(key, args, `${CALL}/function/arguments`);
      turn.at(key)?.agreeOnId(id, `${CALL}/id`);
      turn.at(key)?.agreeOnName(name, `${CALL}/function/name`);
      break;
    }
    case "tool-call-end":
      turn.close(expectNumber(event["index"], "/index"));
      break;
    case "message-start":
      if (turn.isFinished) turn.nextMessage();
      if (message["role"] !== undefined) expectAssistantMessage(message, "/delta/message");
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

/** Where an event has its call. */
const CALL = "/delta/message/tool_calls";

function readPiece(message: JsonObject): {
  readonly id: string;
  readonly name: string;
  readonly args: string;
} {
  const { id, function: called } = expectObject(either(message, "tool_calls", "toolCalls"), CALL);
  const { name, arguments: args } = expectObject(called, `${CALL}/function`);
  return {
    id: readId(id, `${CALL}/id`),
    name: expectString(name ?? "", `${CALL}/function/name`),
    args: expectString(args ?? "", `${CALL}/function/arguments`),
  };
}
