import type { ToolResult } from "../../engine/call/messages.ts";
import type { ToolRegistry } from "../../engine/registry.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import type { ContentBlock } from "../../tool/content.ts";
import { shownContent, toArgumentsObject, toVisibleText } from "../content.ts";
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
import { ANTHROPIC_STRICT } from "../strict/subsets.ts";
import type { TurnCall, WrittenPart } from "../turn.ts";

/** The definition of a tool (Anthropic API reference, "Messages"). */
export interface AnthropicTool {
  readonly name: string;
  readonly description?: string;
  readonly input_schema: { readonly type: "object"; readonly [keyword: string]: unknown };
  readonly strict?: true;
}

/** An assistant's text and calls. */
export interface AnthropicAssistantMessage {
  readonly role: "assistant";
  readonly content: (AnthropicText | AnthropicToolUse | AnthropicThinking)[];
}

/** The model's signed reasoning, which is sent back unchanged. */
export type AnthropicThinking =
  | { readonly type: "thinking"; readonly thinking: string; readonly signature: string }
  | { readonly type: "redacted_thinking"; readonly data: string };

/** The results of an assistant's calls, in the same order. */
export interface AnthropicUserMessage {
  readonly role: "user";
  readonly content: AnthropicToolResult[];
}

/** A text block. */
export interface AnthropicText {
  readonly type: "text";
  readonly text: string;
}

/** One call. */
export interface AnthropicToolUse {
  readonly type: "tool_use";
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
  /** The model's code that made the call, if any. */
  readonly caller?: { readonly type: "direct" };
}

/** The result of one call. */
export interface AnthropicToolResult {
  readonly type: "tool_result";
  readonly tool_use_id: string;
  readonly content: (AnthropicText | AnthropicImage)[];
  readonly is_error: boolean;
}

/** An image in a result. */
export interface AnthropicImage {
  readonly type: "image";
  readonly source: {
    readonly type: "base64";
    readonly media_type: "image/jpeg" | "image/png" | "image/gif" | "image/webp";
    readonly data: string;
  };
}

type AnthropicMessage = AnthropicAssistantMessage | AnthropicUserMessage;

/**
 * Anthropic Messages. Reads an assistant message, which is also the format of a response, or its events. Tool uses that
 * the provider executes itself (`server_tool_use`) are in `other`.
 */
export function anthropicMessagesProtocol(
  registry: ToolRegistry<never>,
): ProviderProtocol<AnthropicTool[], AnthropicMessage> {
  return createProtocol(ANTHROPIC_SHAPE, registry);
}

const ANTHROPIC_SHAPE: ProviderShape<AnthropicTool[], AnthropicMessage> = {
  format: "anthropic",
  strict: ANTHROPIC_STRICT,
  writeTools: (tools) =>
    tools.map(({ name, description, inputSchema, strict }) => ({
      name,
      ...(description !== undefined && { description }),
      input_schema: { ...inputSchema, type: "object" },
      ...(strict && { strict }),
    })),
  readMessage(message, turn) {
    const { content, stop_reason: reason } = expectAssistantMessage(message, "");
    if (typeof content === "string") turn.addText(content);
    else readBlocks(content, "/content", turn);
    return readReason(reason);
  },
  readEvent: readMessagesEvent,
  writeTurn: ({ parts }) => {
    // The provider rejects a message that ends with its reasoning.
    const last = parts.findLastIndex((part) => !("opaque" in part && isReasoning(part.opaque)));
    return [{ role: "assistant", content: parts.slice(0, last + 1).flatMap(writePart) }];
  },
  writeResults: (results) => [{ role: "user", content: results.map(writeToolResult) }],
};

/** Reads the content of a message. @throws {ProtocolError} */
function readBlocks(value: unknown, pointer: string, turn: TurnCollector): void {
  for (const [index, block] of expectObjects(value, pointer).entries()) {
    turn.confirm();
    expectString(block["type"], `${pointer}/${index}/type`);
    if (block["type"] === "text") turn.addText(block["text"]);
    if (isOpaqueBlock(block)) turn.opaque.add(block);
    if (readServerToolUse(block, turn)) continue;
    // The input of the last block may have been cut off, which a parsed value does not show.
    if (block["type"] === "tool_use") turn.add(readToolUse(block, `${pointer}/${index}`), false);
  }
}

/**
 * Returns whether a block is sent back unchanged: signed reasoning, and blocks of the provider's own tools.
 * The provider rejects a message of its own whose reasoning is missing or changed.
 */
function isOpaqueBlock({ type }: JsonObject): boolean {
  return type !== "text" && type !== "tool_use";
}

/** Reads a block of type `tool_use`. @throws {ProtocolError} */
function readToolUse({ id, name, input, caller }: JsonObject, pointer: string): RawCall {
  return {
    id: readId(id, `${pointer}/id`),
    name: expectString(name, `${pointer}/name`),
    arguments: expectObject(input ?? {}, `${pointer}/input`),
    // The model's code that made the call, if any.
    ...(isJsonObject(caller) && { providerData: { caller } }),
  };
}

/** Adds a call that the provider runs itself to `other`: `server_tool_use`, `mcp_tool_use`. Returns whether the block is one. */
function readServerToolUse(block: JsonObject, turn: TurnCollector): boolean {
  const { type, id, name } = block;
  if (typeof type !== "string" || type === "tool_use" || !type.endsWith("tool_use")) return false;
  turn.addOther(type, block, id, name);
  return true;
}

function writePart(part: WrittenPart): AnthropicAssistantMessage["content"] {
  if ("text" in part) return [{ type: "text", text: part.text }];
  if ("call" in part) return [writeToolUse(part.call)];
  // A block whose input was cut off has it as text.
  if (part.opaque["partial_json"] !== undefined) return [];
  // Other opaque blocks belong to the provider's tools.
  return [part.opaque as unknown as AnthropicThinking];
}

function isReasoning({ type }: JsonObject): boolean {
  return type === "thinking" || type === "redacted_thinking";
}

function writeToolUse({ id, name, arguments: args, providerData }: TurnCall): AnthropicToolUse {
  const caller = providerData?.["caller"];
  return {
    type: "tool_use",
    id,
    name,
    input: toArgumentsObject(args),
    ...(isJsonObject(caller) && { caller: caller as AnthropicToolUse["caller"] & {} }),
  };
}

function writeToolResult({ callId, content, isError }: ToolResult): AnthropicToolResult {
  return {
    type: "tool_result",
    tool_use_id: callId,
    content: writeContent(content, isError),
    is_error: isError,
  };
}

/** The provider rejects blank texts, and errors that have anything but text. */
function writeContent(content: readonly ContentBlock[], isError: boolean): AnthropicToolResult["content"] {
  const shown = shownContent(content, !isError);
  if (shown.length === 0) return isError ? [{ type: "text", text: toVisibleText(content) }] : [];
  return shown.map((block) => {
    if (block.type === "text") return { type: "text", text: block.text };
    return { type: "image", source: { type: "base64", media_type: block.mimeType, data: block.data } };
  });
}

/** The types of opaque blocks whose pieces are not JSON. */
const PLAIN: ReadonlySet<unknown> = new Set(["thinking", "redacted_thinking", "compaction"]);

/** The pieces of opaque blocks, and the members that they continue. */
const OPAQUE_DELTAS: Readonly<Record<string, string>> = {
  thinking_delta: "thinking",
  signature_delta: "signature",
  compaction_delta: "content",
};

/** Reads an event of a streamed message (Anthropic, "Streaming Messages"). */
function readMessagesEvent(event: JsonObject, turn: TurnCollector): void {
  switch (event["type"]) {
    case "error":
      throw providerFailure("/error");
    case "message_start":
      if (turn.isFinished) turn.nextMessage();
      readStart(expectObject(event["message"], "/message"), turn);
      break;
    case "content_block_start":
      readBlockStart(event, turn);
      break;
    case "content_block_delta":
      readDelta(event, turn);
      break;
    case "content_block_stop":
      turn.close(expectNumber(event["index"], "/index"));
      turn.opaque.change(expectNumber(event["index"], "/index"), parseInput);
      break;
    case "message_delta": {
      const reason = readReason(expectObject(event["delta"] ?? {}, "/delta")["stop_reason"]);
      if (reason !== undefined) turn.stop(reason);
      break;
    }
    case "message_stop":
      turn.finish();
  }
}

/** Reads the start of a message. If it resumes after the provider's code execution, it already has calls and a stop reason. */
function readStart(message: JsonObject, turn: TurnCollector): void {
  const { role, content, stop_reason: reason } = message;
  // Some servers omit the role.
  if (role !== undefined) expectAssistantMessage(message, "/message");
  readBlocks(content ?? [], "/message/content", turn);
  turn.confirm();
  if (readReason(reason) !== undefined) turn.stop(readReason(reason));
}

function readBlockStart({ index, content_block: value }: JsonObject, turn: TurnCollector): void {
  turn.confirm();
  if (turn.isFinished) throw new ProtocolError("", "starts a block after the end of the message");
  const block = expectObject(value, "/content_block");
  const type = expectString(block["type"], "/content_block/type");
  if (type === "text") turn.addText(block["text"]);
  readServerToolUse(block, turn);
  if (type === "text" || (isOpaqueBlock(block) && typeof index !== "number")) return;
  const position = expectNumber(index, "/index");
  if (isOpaqueBlock(block)) turn.opaque.open(position, block);
  // The input is used if no delta follows.
  if (type === "tool_use") turn.open(position, readToolUse(block, "/content_block"));
  // The provider's own tools stream their input in the same way.
  else if (!PLAIN.has(type)) turn.ignore(position);
}

function readDelta({ index, delta: value }: JsonObject, turn: TurnCollector): void {
  const delta = expectObject(value, "/delta");
  const type = String(delta["type"]);
  if (type === "text_delta") turn.addText(delta["text"]);
  const member = Object.hasOwn(OPAQUE_DELTAS, type) ? OPAQUE_DELTAS[type] : undefined;
  if (member !== undefined) turn.opaque.append(expectNumber(index, "/index"), member, delta[member]);
  if (type !== "input_json_delta") return;
  const piece = expectString(delta["partial_json"], "/delta/partial_json");
  const position = expectNumber(index, "/index");
  if (turn.isIgnored(position)) turn.opaque.append(position, "partial_json", piece);
  else turn.append(position, piece, "/delta/partial_json");
}

/** Parses the input of a block of the provider's own tools. Input that was cut off stays text. */
function parseInput(block: Record<string, JsonValue>): void {
  const { partial_json: text } = block;
  if (typeof text !== "string") return;
  try {
    block["input"] = JSON.parse(text);
    delete block["partial_json"];
  } catch {
    // `writePart` leaves the block out.
  }
}
