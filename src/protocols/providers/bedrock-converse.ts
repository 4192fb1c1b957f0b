import type { ToolCall } from "../../engine/call.ts";
import type { ToolRegistry } from "../../engine/registry.ts";
import { isJsonObject, type JsonObject } from "../../json/value.ts";
import { toArgumentsObject, toVisibleText } from "../content.ts";
import { createProtocol } from "../create-protocol.ts";
import type { RawCall } from "../parsing/call-assembly.ts";
import {
  expectAssistantMessage,
  expectNumber,
  expectObject,
  expectObjects,
  expectString,
  ProtocolError,
  providerFailure,
  readId,
  readReason,
} from "../parsing/shape.ts";
import type { TurnCollector } from "../parsing/turn-collector.ts";
import type { ProviderProtocol, ProviderShape } from "../protocol.ts";
import type { WrittenPart } from "../turn.ts";

/** The definition of a tool: an entry of `toolConfig.tools` (Amazon Bedrock API reference, "Converse"). */
export interface BedrockTool {
  readonly toolSpec: {
    readonly name: string;
    readonly description?: string;
    readonly inputSchema: { readonly json: BedrockDocument };
  };
}

/** A JSON value, in the form of the AWS SDK's `DocumentType`. */
export type BedrockDocument =
  | null
  | boolean
  | number
  | string
  | BedrockDocument[]
  | { [member: string]: BedrockDocument };

/** A message: the assistant's has calls, the user's has results. */
export interface BedrockMessage {
  readonly role: "assistant" | "user";
  readonly content: BedrockBlock[];
}

/** A content block of a message. */
export type BedrockBlock =
  | { readonly text: string }
  /** The model's signed reasoning, which is sent back unchanged. */
  | {
      readonly reasoningContent: {
        readonly reasoningText: { readonly text: string; readonly signature?: string };
      };
    }
  | {
      readonly toolUse: {
        readonly toolUseId: string;
        readonly name: string;
        readonly input: BedrockDocument;
      };
    }
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
      toolSpec: {
        name,
        ...(description !== undefined && { description }),
        inputSchema: { json: inputSchema as BedrockDocument },
      },
    })),
  readMessage(message, turn) {
    if (!isJsonObject(message) || message["output"] === undefined) return readAssistant(message, "", turn);
    readAssistant(expectObject(message["output"], "/output")["message"], "/output/message", turn);
    return readReason(message["stopReason"]);
  },
  readEvent: readConverseEvent,
  writeTurn: ({ parts }) => {
    // The models reject a message that ends with their reasoning.
    const last = parts.findLastIndex((part) => !("opaque" in part));
    return [{ role: "assistant", content: parts.slice(0, last + 1).map(writePart) }];
  },
  writeResults: (results) => [
    {
      role: "user",
      content: results.map(({ callId, content, isError }) => ({
        toolResult: {
          toolUseId: callId,
          content: [{ text: toVisibleText(content) }],
          status: isError ? "error" : "success",
        },
      })),
    },
  ],
};

function readAssistant(value: unknown, pointer: string, turn: TurnCollector): undefined {
  const blocks = expectObjects(expectAssistantMessage(value, pointer)["content"], `${pointer}/content`);
  for (const [index, block] of blocks.entries()) {
    const { text, toolUse, reasoningContent } = block;
    turn.confirm();
    turn.addText(text);
    if (reasoningContent !== undefined) turn.opaque.add(block);
    if (toolUse === undefined) continue;
    const at = `${pointer}/content/${index}/toolUse`;
    const use = expectObject(toolUse, at);
    // The input of the last block may have been cut off, which a parsed value does not show.
    if (!readServerToolUse(use, turn)) turn.add(readToolUse(use, at), false);
  }
}

function readToolUse({ toolUseId, name, input }: JsonObject, pointer: string): RawCall {
  return {
    id: readId(toolUseId, `${pointer}/toolUseId`),
    name: expectString(name, `${pointer}/name`),
    arguments: expectObject(input ?? {}, `${pointer}/input`),
  };
}

/** Adds a call that the provider runs itself to `other`. Returns whether the block is one. */
function readServerToolUse(block: JsonObject, turn: TurnCollector): boolean {
  const { type, toolUseId, name } = block;
  if (typeof type !== "string" || type === "tool_use") return false;
  turn.addOther(type, block, toolUseId, name);
  return true;
}

function writePart(part: WrittenPart): BedrockBlock {
  if ("text" in part) return { text: part.text };
  if ("call" in part) return writeToolUse(part.call);
  const { opaque } = part;
  // In a stream, it was assembled from pieces.
  const block =
    opaque["reasoningContent"] === undefined ? { reasoningContent: { reasoningText: opaque } } : opaque;
  return block as unknown as BedrockBlock;
}

function writeToolUse({ id, name, arguments: args }: ToolCall): BedrockBlock {
  return { toolUse: { toolUseId: id, name, input: toArgumentsObject(args) as BedrockDocument } };
}

/** The members of an event that concern calls. An event has one of them. */
const EVENTS = ["messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop"];

/** Reads an event of a stream (Amazon Bedrock API reference, "ConverseStream"). */
function readConverseEvent(event: JsonObject, turn: TurnCollector): void {
  const exception = Object.keys(event).find((key) => key.endsWith("Exception"));
  if (exception !== undefined && event[exception] !== undefined) throw providerFailure(`/${exception}`);
  const names = EVENTS.filter((name) => event[name] !== undefined);
  const [name, other] = names;
  if (other !== undefined) throw new ProtocolError(`/${other}`, `stands beside '${name}' in one event`);
  if (name === undefined) return;
  const pointer = `/${name}`;
  const value = expectObject(event[name], pointer);
  switch (name) {
    case "messageStart":
      if (turn.isFinished) turn.nextMessage();
      if (value["role"] !== undefined) expectAssistantMessage(value, pointer);
      break;
    case "contentBlockStart":
      readBlockStart(value, turn);
      break;
    case "contentBlockDelta":
      readDelta(value, turn);
      break;
    case "contentBlockStop":
      turn.close(expectNumber(value["contentBlockIndex"], `${pointer}/contentBlockIndex`));
      break;
    case "messageStop":
      turn.stop(readReason(value["stopReason"]));
      turn.finish();
  }
}

function readBlockStart({ contentBlockIndex: index, start }: JsonObject, turn: TurnCollector): void {
  turn.confirm();
  if (turn.isFinished) throw new ProtocolError("", "starts a block after the end of the message");
  const toolUse = isJsonObject(start) ? start["toolUse"] : undefined;
  if (toolUse === undefined) return;
  const pointer = "/contentBlockStart/start/toolUse";
  const block = expectObject(toolUse, pointer);
  const position = expectNumber(index, "/contentBlockStart/contentBlockIndex");
  // The provider's own tools stream their input in the same way.
  if (readServerToolUse(block, turn)) turn.ignore(position);
  // The API has no input here. One that has content must be what the pieces say.
  else turn.open(position, readToolUse(block, pointer));
}

function readDelta({ contentBlockIndex: index, delta }: JsonObject, turn: TurnCollector): void {
  const { text, toolUse, reasoningContent } = expectObject(delta, "/contentBlockDelta/delta");
  turn.addText(text);
  const at = "/contentBlockDelta/contentBlockIndex";
  if (isJsonObject(reasoningContent)) readReasoning(expectNumber(index, at), reasoningContent, turn);
  if (toolUse === undefined) return;
  const pointer = "/contentBlockDelta/delta/toolUse/input";
  const { input = "" } = expectObject(toolUse, "/contentBlockDelta/delta/toolUse");
  turn.append(expectNumber(index, at), expectString(input, pointer), pointer);
}

/** Reads a piece of reasoning: of its text, its signature, or the whole of one that is redacted. */
function readReasoning(position: number, piece: JsonObject, turn: TurnCollector): void {
  if (piece["redactedContent"] !== undefined) {
    turn.opaque.add({ reasoningContent: piece });
    return;
  }
  if (!turn.opaque.has(position)) turn.opaque.open(position, {});
  for (const member of ["text", "signature"]) turn.opaque.append(position, member, piece[member]);
}
