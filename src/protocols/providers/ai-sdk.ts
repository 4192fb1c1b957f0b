import type { ToolResult } from "../../engine/call/messages.ts";
import type { ToolRegistry } from "../../engine/registry.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import type { ContentBlock } from "../../tool/content.ts";
import { shownContent, toArgumentsObject, toVisibleText } from "../content.ts";
import { createProtocol } from "../create-protocol.ts";
import {
  expectAssistantMessage,
  expectObjects,
  expectString,
  ProtocolError,
  providerFailure,
  readReason,
} from "../parsing/shape.ts";
import type { TurnCollector } from "../parsing/turn-collector.ts";
import { contradiction, isBlank } from "../parsing/values.ts";
import type { ProviderProtocol, ProviderShape } from "../protocol.ts";
import type { OfferedTool } from "../strict/offer-tools.ts";
import { COMMON_STRICT } from "../strict/subsets.ts";
import type { WrittenPart } from "../turn.ts";

/** The output of a call in AI SDK 7 (`ToolResultOutput`). */
export type AiSdkOutput =
  | { readonly type: "text" | "error-text"; readonly value: string }
  | { readonly type: "content"; readonly value: AiSdkContent[] };

/** A content block. */
type AiSdkContent =
  | { readonly type: "text"; readonly text: string }
  | {
      readonly type: "file";
      readonly mediaType: string;
      readonly data: { readonly type: "data"; readonly data: string };
    };

/** A tool of a `ToolSet` without an `execute` function. */
export interface AiSdkToolDefinition {
  readonly description?: string;
  readonly inputSchema: AiSdkSchema;
  readonly strict?: true;
}

/** An assistant's text and calls. */
export interface AiSdkAssistantMessage {
  readonly role: "assistant";
  readonly content: ({ readonly type: "text"; readonly text: string } | AiSdkReasoning | AiSdkToolCall)[];
}

/** Data that providers want back with a part, by provider. */
export type AiSdkProviderOptions = Record<string, JsonObject>;

/** The model's reasoning. */
export interface AiSdkReasoning {
  readonly type: "reasoning";
  readonly text: string;
  readonly providerOptions?: AiSdkProviderOptions;
}

/** One call. */
export interface AiSdkToolCall {
  readonly type: "tool-call";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: JsonObject;
  readonly providerOptions?: AiSdkProviderOptions;
}

/** The results of an assistant's calls, in the same order. */
export interface AiSdkToolMessage {
  readonly role: "tool";
  readonly content: AiSdkToolResult[];
}

/** The result of one call. The type of its output marks errors. */
export interface AiSdkToolResult {
  readonly type: "tool-result";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly output: AiSdkOutput;
}

type AiSdkMessage = AiSdkAssistantMessage | AiSdkToolMessage;

/**
 * AI SDK 7 (the package `ai`), for callers that dispatch calls between its steps. Reads an assistant's `ModelMessage`,
 * a result of `generateText` or of a language model, the bare list of their calls, or the parts of their streams. Calls
 * that the provider executes itself are in `other`.
 */
export function aiSdkProtocol(
  registry: ToolRegistry<never>,
): ProviderProtocol<Record<string, AiSdkToolDefinition>, AiSdkMessage> {
  return createProtocol(AI_SDK_SHAPE, registry);
}

const AI_SDK_SHAPE: ProviderShape<Record<string, AiSdkToolDefinition>, AiSdkMessage> = {
  format: "ai-sdk",
  strict: COMMON_STRICT,
  writeTools: (tools) => Object.fromEntries(tools.map((tool) => [tool.name, writeDefinition(tool)])),
  readMessage(message, turn) {
    if (Array.isArray(message)) {
      readParts(message, "", turn);
      return undefined;
    }
    // A model's result has no role, as it is always the assistant's.
    const isResult = isJsonObject(message) && message["role"] === undefined && "content" in message;
    const { content, finishReason } = isResult ? message : expectAssistantMessage(message, "");
    if (typeof content === "string") turn.addText(content);
    else readParts(content, "/content", turn);
    return readFinishReason(finishReason);
  },
  readEvent: readAiSdkPart,
  writeTurn: ({ parts }) => [{ role: "assistant", content: parts.map(writePart) }],
  writeResults: (results) => [{ role: "tool", content: results.map(writeResult) }],
};

/** Writes a tool without an `execute` function. */
function writeDefinition({ description, inputSchema, strict }: OfferedTool): AiSdkToolDefinition {
  return {
    ...(description !== undefined && { description }),
    inputSchema: toAiSdkSchema(inputSchema),
    ...(strict && { strict }),
  };
}

/** The symbol that marks a `Schema` of any copy of the SDK. */
const AI_SDK_SCHEMA = Symbol.for("vercel.ai.schema");

/**
 * A schema for AI SDK 7: a Standard Schema (standardschema.dev) with a JSON Schema. At run time it is also a `Schema`
 * of the SDK, because the SDK closes the objects of any other schema. It accepts every value: the engine validates, and
 * its errors are written for the model.
 */
interface AiSdkSchema {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: "sandgate";
    readonly validate: (value: unknown) => { readonly value: unknown };
    readonly jsonSchema: {
      readonly input: () => Record<string, unknown>;
      readonly output: () => Record<string, unknown>;
    };
  };
}

/** Wraps a JSON Schema. Each reader gets a separate copy. */
function toAiSdkSchema(schema: JsonObject): AiSdkSchema {
  const copy = (): Record<string, unknown> => structuredClone({ ...schema });
  let own: Record<string, unknown> | undefined;
  const wrapped = {
    "~standard": {
      version: 1,
      vendor: "sandgate",
      validate: (value: unknown) => ({ value }),
      jsonSchema: { input: copy, output: copy },
    },
    [AI_SDK_SCHEMA]: true,
    // Copied on first use, since copying is slow.
    get jsonSchema(): Record<string, unknown> {
      own ??= copy();
      return own;
    },
    validate: (value: unknown) => ({ success: true, value }),
  } as const;
  return wrapped;
}

function writePart(part: WrittenPart): AiSdkAssistantMessage["content"][number] {
  if ("text" in part) return { type: "text", text: part.text };
  if ("opaque" in part) return part.opaque as unknown as AiSdkReasoning;
  const { id, name, arguments: args, providerData } = part.call;
  const options = providerData?.["providerOptions"];
  return {
    type: "tool-call",
    toolCallId: id,
    toolName: name,
    input: toArgumentsObject(args),
    ...(isJsonObject(options) && { providerOptions: options as AiSdkProviderOptions }),
  };
}

function writeResult({ callId, toolName, content, isError }: ToolResult): AiSdkToolResult {
  return { type: "tool-result", toolCallId: callId, toolName, output: toAiSdkOutput(content, isError) };
}

/** Converts the content of a result. An error is text only, as the SDK has no other form. */
export function toAiSdkOutput(content: readonly ContentBlock[], isError: boolean): AiSdkOutput {
  if (isError) return { type: "error-text", value: toVisibleText(content) };
  const shown = shownContent(content);
  if (shown.every((block) => block.type === "text")) return { type: "text", value: toVisibleText(content) };
  return {
    type: "content",
    value: shown.map((block) => {
      if (block.type === "text") return { type: "text", text: block.text };
      return { type: "file", mediaType: block.mimeType, data: { type: "data", data: block.data } };
    }),
  };
}

function readParts(value: unknown, pointer: string, turn: TurnCollector): void {
  for (const [index, part] of expectObjects(value, pointer).entries()) {
    turn.confirm();
    if (part["type"] === "text") turn.addText(part["text"]);
    else if (part["type"] === "reasoning") turn.opaque.add(toReasoning(part));
    else if (part["type"] === "tool-call") readAiSdkCall(part, `${pointer}/${index}`, turn);
    else if (part["type"] === "tool-approval-request") {
      turn.addOther("tool-approval-request", part, part["approvalId"], part["toolName"]);
    }
  }
}

/**
 * Reads a part of a stream of AI SDK 7: a language model's (`LanguageModelV4StreamPart`), that of `streamText`
 * (`TextStreamPart`), or one for a browser (`UIMessageChunk`).
 */
function readAiSdkPart(part: JsonObject, turn: TurnCollector): void {
  switch (part["type"]) {
    case "error":
      throw providerFailure("");
    case "text-delta":
      turn.confirm();
      turn.addText(part["text"] ?? part["delta"]);
      break;
    case "start-step":
    case "stream-start":
      turn.nextMessage();
      break;
    case "reasoning-start":
      turn.opaque.open(reasoningKey(part), toReasoning({ ...part, text: "" }));
      break;
    case "reasoning-delta":
    case "reasoning-end":
      turn.opaque.append(reasoningKey(part), "text", part["delta"] ?? part["text"]);
      turn.opaque.change(reasoningKey(part), (reasoning) => Object.assign(reasoning, withOptions(part)));
      break;
    case "tool-input-start":
      readStart(part, turn);
      break;
    case "tool-input-delta": {
      const key = expectString(part["id"] ?? part["toolCallId"], "/id");
      const piece = expectString(part["delta"] ?? part["inputTextDelta"] ?? "", "/delta");
      turn.append(key, piece, "/delta");
      break;
    }
    case "tool-call":
    case "tool-input-available":
    case "tool-input-error":
      turn.confirm();
      readAiSdkCall(part, "", turn);
      break;
    case "finish-step":
    case "finish": {
      const reason = readFinishReason(part["finishReason"]);
      // A browser may get the last part without a reason.
      if (reason !== undefined || turn.stopReason === undefined) turn.stop(reason);
      if (part["type"] === "finish") turn.finish();
      break;
    }
    case "abort":
      turn.stop("abort");
      turn.finish();
  }
}

/** Reads a finish reason: a language model's has the provider's own word beside the SDK's. */
function readFinishReason(reason: JsonValue | undefined): string | undefined {
  return readReason(isJsonObject(reason) ? reason["unified"] : reason);
}

/** Opens a call, although the complete call follows, so that a stream that ends before it is detected. */
function readStart(part: JsonObject, turn: TurnCollector): void {
  turn.confirm();
  const key = expectString(part["id"] ?? part["toolCallId"], "/id");
  if (part["providerExecuted"] === true) {
    turn.ignore(key);
    return;
  }
  turn.open(key, { id: key, name: expectString(part["toolName"], "/toolName"), arguments: null });
}

/** Reads a part of type `tool-call`. In a language model's part, the input is JSON text. @throws {ProtocolError} */
function readAiSdkCall(part: JsonObject, pointer: string, turn: TurnCollector): void {
  const { type, toolCallId, toolName, input, providerExecuted } = part;
  const id = expectString(toolCallId, `${pointer}/toolCallId`);
  if (providerExecuted === true) {
    // A call that was opened before would run twice.
    if (turn.at(id) !== undefined) throw contradiction(`${pointer}/providerExecuted`);
    turn.addOther(String(type), part, toolCallId, toolName);
    return;
  }
  if (turn.isIgnored(id)) throw contradiction(`${pointer}/providerExecuted`);
  if (input === undefined) throw new ProtocolError(`${pointer}/input`, "is missing");
  const name = expectString(toolName, `${pointer}/toolName`);
  // The SDK writes an empty object for arguments that have not arrived.
  const isComplete = isBlank(input) ? false : undefined;
  const options = optionsOf(part);
  const providerData = options && { providerData: { providerOptions: options } };
  turn.state(id, { id, name, arguments: input, ...providerData }, pointer, isComplete);
}

/** Reasoning has ids of its own. */
function reasoningKey({ id }: JsonObject): string {
  return `reasoning ${typeof id === "string" ? id : ""}`;
}

/** Returns a part of reasoning as a message has it. */
function toReasoning(part: JsonObject): JsonObject {
  const { text } = part;
  return { type: "reasoning", text: typeof text === "string" ? text : "", ...withOptions(part) };
}

function withOptions(part: JsonObject): { readonly providerOptions?: JsonObject } {
  const options = optionsOf(part);
  return options === undefined ? {} : { providerOptions: options };
}

/** Data that a provider wants back with a part: `providerMetadata` in a result, `providerOptions` in a message. */
function optionsOf({ providerMetadata, providerOptions }: JsonObject): JsonObject | undefined {
  const options = providerOptions ?? providerMetadata;
  return isJsonObject(options) ? options : undefined;
}
