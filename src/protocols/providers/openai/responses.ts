import type { ToolRegistry } from "../../../engine/registry.ts";
import { isJsonObject, type JsonObject } from "../../../json/value.ts";
import type { ContentBlock } from "../../../tool/content.ts";
import { shownContent, toArgumentsText, toInputText, toText } from "../../content.ts";
import { createProtocol } from "../../create-protocol.ts";
import type { RawCall } from "../../parsing/call-assembly.ts";
import {
  expectAssistantMessage,
  expectNumber,
  expectObject,
  expectObjects,
  expectString,
  ProtocolError,
  providerFailure,
  readContentText,
  readId,
  readReason,
} from "../../parsing/shape.ts";
import type { TurnCollector } from "../../parsing/turn-collector.ts";
import { contradiction } from "../../parsing/values.ts";
import type { ProviderProtocol, ProviderShape } from "../../protocol.ts";
import type { OfferedTool } from "../../strict/offer-tools.ts";
import { OPENAI_STRICT } from "../../strict/subsets.ts";
import type { TurnCall } from "../../turn.ts";
import { readChatArguments } from "./chat-message.ts";

/** The definition of a tool (OpenAI API reference, "Create a model response"). */
export type OpenAiResponsesTool = OpenAiResponsesFunctionTool | OpenAiResponsesCustomTool;

/** A free-form tool. */
export interface OpenAiResponsesCustomTool {
  readonly type: "custom";
  readonly name: string;
  readonly description?: string;
}

/** A tool that takes JSON. */
export interface OpenAiResponsesFunctionTool {
  readonly type: "function";
  readonly name: string;
  readonly description?: string;
  readonly parameters: Record<string, unknown>;
  /** Always set, as the provider's default is `true`. */
  readonly strict: boolean;
}

/** An item of the next `input`: the assistant's text and calls, and the results. */
export type OpenAiResponsesItem =
  | OpenAiReasoning
  | { readonly role: "assistant"; readonly content: string }
  | {
      readonly type: "function_call";
      readonly call_id: string;
      readonly name: string;
      readonly arguments: string;
    }
  | {
      readonly type: "custom_tool_call";
      readonly call_id: string;
      readonly name: string;
      readonly input: string;
    }
  | {
      readonly type: "function_call_output" | "custom_tool_call_output";
      readonly call_id: string;
      readonly output: string | OpenAiResponsesContent[];
    };

/** The model's encrypted reasoning, which is sent back unchanged. */
export interface OpenAiReasoning {
  readonly type: "reasoning";
  readonly id: string;
  readonly summary: { readonly type: "summary_text"; readonly text: string }[];
  readonly encrypted_content: string;
}

/** A content part of a result. The format does not mark errors, so the text has to name them. */
export type OpenAiResponsesContent =
  | { readonly type: "input_text"; readonly text: string }
  | { readonly type: "input_image"; readonly image_url: string; readonly detail: "auto" };

/**
 * OpenAI Responses. Reads a whole response, its list of output items, or its events. Only items of type `function_call`,
 * and of type `custom_tool_call` for a free-form tool, are calls of the registry. The others (`mcp_approval_request`…) are
 * in `other`.
 */
export function openAiResponsesProtocol(
  registry: ToolRegistry<never>,
): ProviderProtocol<OpenAiResponsesTool[], OpenAiResponsesItem> {
  return createProtocol(OPENAI_RESPONSES_SHAPE, registry);
}

const OPENAI_RESPONSES_SHAPE: ProviderShape<OpenAiResponsesTool[], OpenAiResponsesItem> = {
  format: "openai-responses",
  strict: OPENAI_STRICT,
  takesText: true,
  writeTools: (tools) => tools.map(writeTool),
  readMessage(message, turn) {
    if (Array.isArray(message)) {
      readItems(message, "", turn);
      return undefined;
    }
    const response = expectObject(message, "");
    if (response["type"] === "function_call" || response["type"] === "custom_tool_call") {
      readItems([response], "", turn);
      return undefined;
    }
    if (response["status"] === "failed") throw providerFailure("/status");
    readItems(response["output"], "/output", turn);
    return reasonOf(response);
  },
  readEvent: readResponsesEvent,
  writeTurn: ({ parts }) =>
    parts.flatMap((part, index): OpenAiResponsesItem[] => {
      if ("text" in part) return [{ role: "assistant", content: part.text }];
      if ("call" in part) return [writeCall(part.call)];
      // The provider rejects reasoning without the item that it led to.
      const isUseless = part.opaque["type"] === "reasoning" && parts[index + 1] === undefined;
      return isUseless ? [] : [part.opaque as unknown as OpenAiReasoning];
    }),
  writeResults: (results, custom) =>
    results.map(({ callId, content }) => ({
      type: custom.has(callId) ? "custom_tool_call_output" : "function_call_output",
      call_id: callId,
      output: writeContent(content),
    })),
};

function writeTool({ name, description, inputSchema, freeform, strict }: OfferedTool): OpenAiResponsesTool {
  const named = { name, ...(description !== undefined && { description }) };
  if (freeform) return { type: "custom", ...named };
  return { type: "function", ...named, parameters: { ...inputSchema }, strict };
}

function writeCall({ id, name, arguments: args, custom }: TurnCall): OpenAiResponsesItem {
  return custom
    ? { type: "custom_tool_call", call_id: id, name, input: toInputText(args) }
    : { type: "function_call", call_id: id, name, arguments: toArgumentsText(args) };
}

/** Writes text without images as a string, which older models accept, too. */
function writeContent(content: readonly ContentBlock[]): string | OpenAiResponsesContent[] {
  const shown = shownContent(content);
  if (shown.every((block) => block.type === "text")) return toText(content);
  return shown.map((block) => {
    if (block.type === "text") return { type: "input_text", text: block.text };
    return {
      type: "input_image",
      image_url: `data:${block.mimeType};base64,${block.data}`,
      detail: "auto",
    };
  });
}

/** Reads the output of a response. @throws {ProtocolError} */
function readItems(value: unknown, pointer: string, turn: TurnCollector): void {
  for (const [index, item] of expectObjects(value, pointer).entries()) {
    readMessageItem(item, `${pointer}/${index}`, turn);
    if (isOpaqueItem(item)) turn.opaque.add(item);
    const call = readCall(item, `${pointer}/${index}`, turn);
    if (call === undefined) readOther(item, turn);
    else {
      const added = turn.add(call, completeness(item, call));
      added.isUnfinished = item["status"] === "incomplete";
    }
  }
}

function readMessageItem(item: JsonObject, pointer: string, turn: TurnCollector): void {
  if (item["type"] !== "message") return;
  if (item["role"] !== undefined) expectAssistantMessage(item, pointer);
  turn.addText(readContentText(item["content"]));
}

/** Returns whether an item is sent back as it is: encrypted reasoning, or a compacted conversation. */
function isOpaqueItem({ type, encrypted_content: content }: JsonObject): boolean {
  // Without its content, the provider would look for an item that it may not have stored.
  return (type === "reasoning" || type === "compaction") && typeof content === "string" && content !== "";
}

/** Reads a call of the registry; `undefined` if the item is something else. */
function readCall(item: JsonObject, pointer: string, turn: TurnCollector): RawCall | undefined {
  const { type, call_id: callId, name, arguments: args, input } = item;
  const isCustom = isOwnCustomCall(item, turn);
  if (type !== "function_call" && !isCustom) return undefined;
  return {
    id: readId(callId, `${pointer}/call_id`),
    name: expectString(name ?? "", `${pointer}/name`),
    arguments: isCustom
      ? expectString(input ?? "", `${pointer}/input`)
      : readChatArguments(args, `${pointer}/arguments`),
    ...(isCustom && { custom: true as const }),
  };
}

/** Whether an item is a call of one of the registry's free-form tools. */
function isOwnCustomCall({ type, name }: JsonObject, turn: TurnCollector): boolean {
  return type === "custom_tool_call" && turn.isFreeform(name);
}

/** Whether a call is certainly complete. Missing parts may follow with the whole response. */
function completeness({ status }: JsonObject, { id, name, custom }: RawCall): boolean | undefined {
  if (id === "" || name === "") return false;
  if (custom) return status === "completed";
  return status === "incomplete" ? false : undefined;
}

function readOther(item: JsonObject, turn: TurnCollector): void {
  const { type, id, call_id: callId, name } = item;
  if (typeof type !== "string" || !/_(?:call|request)$/.test(type)) return;
  turn.addOther(type, item, callId ?? id, name);
}

/** Returns why a response stopped. @throws {ProtocolError} if it is complete and names a reason why it is not. */
function reasonOf({ status, incomplete_details: details }: JsonObject): string | undefined {
  const reason = readReason(isJsonObject(details) ? details["reason"] : undefined);
  if (reason !== undefined && status === "completed") throw contradiction("/incomplete_details");
  return reason ?? readReason(status);
}

/** Reads an event of a stream (OpenAI API reference, "Streaming events"). */
function readResponsesEvent(event: JsonObject, turn: TurnCollector): void {
  switch (event["type"]) {
    case "error":
    case "response.failed":
      throw providerFailure("");
    case "response.created":
      if (turn.isFinished) turn.nextMessage();
      break;
    case "response.output_text.delta":
      turn.addText(event["delta"]);
      break;
    case "response.output_item.added":
    case "response.output_item.done":
      readItemEvent(event, turn);
      break;
    case "response.function_call_arguments.delta":
    case "response.custom_tool_call_input.delta":
      readDelta(event, turn);
      break;
    case "response.function_call_arguments.done":
    case "response.custom_tool_call_input.done":
      readArgumentsDone(event, turn);
      break;
    case "response.completed":
    case "response.incomplete":
      readEnd(event, turn);
  }
}

/** Reads an item, which is sent twice: when it starts, and complete when it is done. */
function readItemEvent(event: JsonObject, turn: TurnCollector): void {
  if (turn.isFinished) throw new ProtocolError("", "adds an item after the end of the message");
  const item = expectObject(event["item"], "/item");
  const isDone = event["type"] === "response.output_item.done";
  if (item["type"] === "message" && item["role"] !== undefined) expectAssistantMessage(item, "/item");
  if (isDone && isOpaqueItem(item)) turn.opaque.add(item);
  const call = readCall(item, "/item", turn);
  if (call === undefined) {
    const key = keyOf(event, turn);
    if (key !== undefined && turn.at(key) !== undefined) throw contradiction("/item/type");
    if (key !== undefined) turn.ignore(key);
    if (isDone) readOther(item, turn);
    return;
  }
  const { item_id: _, ...position } = event;
  const key = keyOf(position, turn) ?? (call.id || String(item["id"] ?? ""));
  const known = turn.at(key) ?? turn.withId(call.id);
  if (!isDone) {
    if (known !== undefined) throw new ProtocolError("/item", "starts a call that has been started before");
    const opened = turn.open(key, { ...call, arguments: call.arguments ?? null });
    if (typeof item["id"] === "string") opened.itemId = item["id"];
    return;
  }
  const own = known ?? turn.open(key, call);
  turn.restate(own, call, "/item", completeness(item, call));
  own.isUnfinished ||= item["status"] === "incomplete";
}

function readDelta(event: JsonObject, turn: TurnCollector): void {
  const piece = expectString(event["delta"] ?? "", "/delta");
  const key = keyOf(event, turn);
  if (key === undefined) throw new ProtocolError("/output_index", "must be a number");
  turn.append(key, piece, "/delta");
}

function readArgumentsDone(event: JsonObject, turn: TurnCollector): void {
  const { arguments: args, input, name } = event;
  const key = keyOf(event, turn);
  if (key === undefined) throw new ProtocolError("/output_index", "must be a number");
  if (turn.isIgnored(key)) return;
  const call = turn.at(key);
  if (call === undefined) throw new ProtocolError("", "continues a call that has not started");
  call.agreeOnName(expectString(name ?? "", "/name"), "/name");
  call.agreeOnArguments(readChatArguments(args ?? input, "/arguments"), "/arguments");
}

/**
 * Returns the position of the item that an event is about, or its id if the server omits the position.
 *
 * @throws {ProtocolError} if the id is that of an item with another position. Some servers change ids with each event.
 */
function keyOf(event: JsonObject, turn: TurnCollector): string | number | undefined {
  const { output_index: index, item_id: id } = event;
  const owner = typeof id === "string" && id !== "" ? turn.keyWhere((call) => call.itemId === id) : undefined;
  if (index === undefined || index === null) return owner ?? (typeof id === "string" ? id : undefined);
  const position = expectNumber(index, "/output_index");
  if (owner !== undefined && owner !== position) throw contradiction("/item_id");
  return position;
}

const FINAL: ReadonlySet<unknown> = new Set(["completed", "incomplete", "cancelled"]);

/** Reads the last event. It repeats the whole response. */
function readEnd(event: JsonObject, turn: TurnCollector): void {
  const response = expectObject(event["response"] ?? {}, "/response");
  const { status, output } = response;
  const own = event["type"] === "response.completed" ? "completed" : "incomplete";
  if (status === "failed") throw providerFailure("/response/status");
  if (FINAL.has(status) && status !== own) throw contradiction("/response/status");
  const items = expectObjects(output ?? [], "/response/output");
  for (const [index, item] of items.entries()) readSnapshot(item, index, turn);
  turn.stop(reasonOf({ ...response, status: own }));
  turn.finish();
}

/** Compares an item of the whole response with what arrived before, or adds it if it did not. */
function readSnapshot(item: JsonObject, index: number, turn: TurnCollector): void {
  const pointer = `/response/output/${index}`;
  if (turn.text === "") readMessageItem(item, pointer, turn);
  const call = readCall(item, pointer, turn);
  if (call === undefined) {
    const { id, call_id: callId } = item;
    const isKnown = turn.other.some((other) => other.id === (callId ?? id));
    if (!isKnown) readOther(item, turn);
    return;
  }
  const known = turn.withId(call.id) ?? turn.at(index);
  const own = known ?? turn.open(index, call);
  turn.restate(own, call, pointer, completeness(item, call));
  own.isUnfinished ||= item["status"] === "incomplete";
}
