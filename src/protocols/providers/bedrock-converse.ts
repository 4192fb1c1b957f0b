import type { ToolCall } from "../../engine/call/call.ts";
import type { ToolRegistry } from "../../engine/registry.ts";
import { isJsonObject, type JsonObject } from "../../json/value.ts";
import { createProtocol } from "../create-protocol.ts";
import type { CallCollector } from "../parsing/call-collector.ts";
import {
  expectAssistantMessage,
  expectNumber,
  expectObject,
  expectObjects,
  expectString,
} from "../parsing/shape.ts";
import { toArgumentsObject, toText } from "../parsing/text.ts";
import type { AssistantTurn, ProviderProtocol } from "../protocol.ts";
import type { ProviderShape } from "../provider-shape.ts";

/** The definition of a tool: an entry of `toolConfig.tools` (Amazon Bedrock API reference, "Converse"). */
export interface BedrockTool {
  readonly toolSpec: {
    readonly name: string;
    readonly description: string;
    readonly inputSchema: { readonly json: JsonObject };
  };
}

/** A message: the assistant's has calls, the user's has results. */
export interface BedrockMessage {
  readonly role: "assistant" | "user";
  readonly content: BedrockBlock[];
}

/** A content block of a message. */
export type BedrockBlock =
  | { readonly text: string }
  | { readonly toolUse: { readonly toolUseId: string; readonly name: string; readonly input: JsonObject } }
  | {
      readonly toolResult: {
        readonly toolUseId: string;
        readonly content: { readonly text: string }[];
        readonly status: "success" | "error";
      };
    };

/**
 * Amazon Bedrock Converse. Reads an assistant message, the response that contains it, or the events of its stream from
 * the AWS SDK. Results are text only: images are replaced by a placeholder.
 */
export function bedrockConverseProtocol(
  registry: ToolRegistry<never>,
): ProviderProtocol<BedrockTool[], BedrockMessage> {
  return createProtocol(BEDROCK_SHAPE, registry);
}

const BEDROCK_SHAPE: ProviderShape<BedrockTool[], BedrockMessage> = {
  format: "bedrock",
  writeTools: (tools) =>
    tools.map(({ name, description, inputSchema }) => ({
      toolSpec: { name, description, inputSchema: { json: inputSchema } },
    })),
  readMessage(message) {
    if (!isJsonObject(message) || message["output"] === undefined) return readAssistant(message, "");
    return readAssistant(expectObject(message["output"], "/output")["message"], "/output/message");
  },
  readEvent: readConverseEvent,
  writeTurn: (calls, text) => [
    { role: "assistant", content: [...(text.trim() === "" ? [] : [{ text }]), ...calls.map(writeToolUse)] },
  ],
  writeResults: (results) => [
    {
      role: "user",
      content: results.map(({ callId, content, isError }) => ({
        toolResult: {
          toolUseId: callId,
          content: [{ text: toText(content) }],
          status: isError ? "error" : "success",
        },
      })),
    },
  ],
};

function readAssistant(value: unknown, pointer: string): AssistantTurn {
  const blocks = expectObjects(expectAssistantMessage(value, pointer)["content"], `${pointer}/content`);
  return {
    text: blocks.map(({ text }) => (typeof text === "string" ? text : "")).join(""),
    calls: blocks.flatMap(({ toolUse }, index) =>
      toolUse === undefined ? [] : [readToolUse(toolUse, `${pointer}/content/${index}/toolUse`)],
    ),
  };
}

function readToolUse(value: unknown, pointer: string): ToolCall {
  const { toolUseId, name, input } = expectObject(value, pointer);
  return {
    id: expectString(toolUseId, `${pointer}/toolUseId`),
    name: expectString(name, `${pointer}/name`),
    arguments: expectObject(input, `${pointer}/input`),
  };
}

function writeToolUse({ id, name, arguments: args }: ToolCall): BedrockBlock {
  return { toolUse: { toolUseId: id, name, input: toArgumentsObject(args) } };
}

/** Reads an event of a stream (Amazon Bedrock API reference, "ConverseStream"). */
function readConverseEvent(event: JsonObject, calls: CallCollector): void {
  const { contentBlockStart: start, contentBlockDelta: piece, contentBlockStop: stop } = event;
  if (start !== undefined) {
    const { contentBlockIndex: index, start: block } = expectObject(start, "/contentBlockStart");
    const toolUse = isJsonObject(block) ? block["toolUse"] : undefined;
    if (toolUse === undefined) return;
    const pointer = "/contentBlockStart/start/toolUse";
    const { id, name } = readToolUse({ input: {}, ...expectObject(toolUse, pointer) }, pointer);
    calls.open(expectNumber(index, "/contentBlockStart/contentBlockIndex"), id, name, {});
  } else if (piece !== undefined) {
    const { contentBlockIndex: index, delta } = expectObject(piece, "/contentBlockDelta");
    const { text, toolUse } = expectObject(delta, "/contentBlockDelta/delta");
    calls.addText(text);
    if (toolUse === undefined) return;
    const pointer = "/contentBlockDelta/delta/toolUse";
    const { input } = expectObject(toolUse, pointer);
    calls.append(
      expectNumber(index, "/contentBlockDelta/contentBlockIndex"),
      expectString(input, `${pointer}/input`),
    );
  } else if (stop !== undefined) {
    const { contentBlockIndex: index } = expectObject(stop, "/contentBlockStop");
    calls.close(expectNumber(index, "/contentBlockStop/contentBlockIndex"));
  }
}
