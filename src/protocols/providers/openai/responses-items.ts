import { isJsonObject, type JsonObject } from "../../../json/value.ts";
import { contradiction } from "../../parsing/agree.ts";
import type { RawCall } from "../../parsing/call-assembly.ts";
import { ProtocolError } from "../../parsing/protocol-error.ts";
import {
  expectAssistantMessage,
  expectNumber,
  expectObject,
  expectObjects,
  expectString,
  providerFailure,
  readContentText,
  readId,
  readReason,
} from "../../parsing/shape.ts";
import type { TurnCollector } from "../../parsing/turn-collector.ts";
import { readChatArguments } from "./chat-message.ts";

/** Reads the output of a response. @throws {ProtocolError} */
export function readItems(value: unknown, pointer: string, turn: TurnCollector): void {
  for (const [index, item] of expectObjects(value, pointer).entries()) {
    readMessageItem(item, `${pointer}/${index}`, turn);
    if (isOpaqueItem(item)) turn.opaque.add(item);
    const call = readCall(item, `${pointer}/${index}`, turn);
    if (call === undefined) noteOther(item, turn);
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

/** Returns whether an item is sent back as it is: encrypted reasoning, and what the conversation was compacted to. */
function isOpaqueItem({ type, encrypted_content: content }: JsonObject): boolean {
  // Without its content, the provider would look for an item that it may not have stored.
  return (type === "reasoning" || type === "compaction") && typeof content === "string" && content !== "";
}

/** Returns why a response stopped. @throws {ProtocolError} if it says that it is complete, and why it is not. */
export function reasonOf({ status, incomplete_details: details }: JsonObject): string | undefined {
  const reason = readReason(isJsonObject(details) ? details["reason"] : undefined);
  if (reason !== undefined && status === "completed") throw contradiction("/incomplete_details");
  return reason ?? readReason(status);
}

/** Reads an event of a stream (OpenAI API reference, "Streaming events"). */
export function readResponsesEvent(event: JsonObject, turn: TurnCollector): void {
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

const FINAL: ReadonlySet<unknown> = new Set(["completed", "incomplete", "cancelled"]);

/** Compares an item of the whole response with what arrived before, or adds it if it did not. */
function readSnapshot(item: JsonObject, index: number, turn: TurnCollector): void {
  const pointer = `/response/output/${index}`;
  if (turn.text === "") readMessageItem(item, pointer, turn);
  const call = readCall(item, pointer, turn);
  if (call === undefined) {
    const { id, call_id: callId } = item;
    const isKnown = turn.other.some((other) => other.id === (callId ?? id));
    if (!isKnown) noteOther(item, turn);
    return;
  }
  const known = turn.withId(call.id) ?? turn.at(index);
  const own = known ?? turn.open(index, call);
  turn.restate(own, call, pointer, completeness(item, call));
  own.isUnfinished ||= item["status"] === "incomplete";
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
    if (isDone) noteOther(item, turn);
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

/** Reads a call of the registry; `undefined` if the item is none. */
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

/** Whether a call is certainly complete. What it lacks may follow with the whole response. */
function completeness({ status }: JsonObject, { id, name, custom }: RawCall): boolean | undefined {
  if (id === "" || name === "") return false;
  if (custom) return status === "completed";
  return status === "incomplete" ? false : undefined;
}

function noteOther(item: JsonObject, turn: TurnCollector): void {
  const { type, id, call_id: callId, name } = item;
  if (typeof type !== "string" || !/_(?:call|request)$/.test(type)) return;
  turn.addOther(type, item, callId ?? id, name);
}

/** Whether an item is a call of one of the registry's free-form tools. */
function isOwnCustomCall({ type, name }: JsonObject, turn: TurnCollector): boolean {
  return type === "custom_tool_call" && turn.isFreeform(name);
}
