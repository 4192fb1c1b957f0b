import { isJsonObject, type JsonObject } from "../../../json/value.ts";
import {
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
    if (item["type"] === "message" && item["role"] === "assistant")
      turn.addText(readContentText(item["content"]));
    readCall(item, `${pointer}/${index}`, turn);
  }
}

/** Returns why a response stopped. */
export function reasonOf({ status, incomplete_details: details }: JsonObject): string | undefined {
  return readReason(isJsonObject(details) ? details["reason"] : undefined) ?? readReason(status);
}

/** Reads an event of a stream (OpenAI API reference, "Streaming events"). */
export function readResponsesEvent(event: JsonObject, turn: TurnCollector): void {
  switch (event["type"]) {
    case "error":
    case "response.failed":
      throw providerFailure("");
    case "response.output_text.delta":
      turn.addText(event["delta"]);
      break;
    case "response.output_item.added":
    case "response.output_item.done":
      readItemEvent(event, turn);
      break;
    case "response.completed":
      turn.stop("completed");
      turn.finish();
      break;
    case "response.incomplete":
      turn.stop(reasonOf({ status: "incomplete", ...expectObject(event["response"] ?? {}, "/response") }));
      turn.finish();
  }
}

/** Reads an item, which is sent twice: when it starts, and complete when it is done. */
function readItemEvent(event: JsonObject, turn: TurnCollector): void {
  const item = expectObject(event["item"], "/item");
  const isDone = event["type"] === "response.output_item.done";
  if (item["type"] === "function_call" || isOwnCustomCall(item, turn)) {
    const key = expectString(item["call_id"] ?? item["id"], "/item/call_id");
    if (isDone) turn.drop(key);
    else turn.open(key, { id: key, name: expectString(item["name"] ?? "", "/item/name"), arguments: null });
  }
  if (isDone) readCall(item, "/item", turn);
}

function readCall(item: JsonObject, pointer: string, turn: TurnCollector): void {
  const { type, status, id, call_id: callId, name, arguments: args } = item;
  if (isOwnCustomCall(item, turn)) {
    readCustomCall(item, pointer, turn);
    return;
  }
  if (type !== "function_call") {
    const isCall = typeof type === "string" && /_(?:call|request)$/.test(type);
    if (isCall) turn.addOther(type, item, callId ?? id, name);
    return;
  }
  turn.add(
    {
      id: readId(callId, `${pointer}/call_id`),
      name: expectString(name, `${pointer}/name`),
      arguments: readChatArguments(args, `${pointer}/arguments`),
    },
    status === "incomplete" ? false : undefined,
  );
}

/** Whether an item is a call of one of the registry's free-form tools. */
function isOwnCustomCall({ type, name }: JsonObject, turn: TurnCollector): boolean {
  return type === "custom_tool_call" && turn.isFreeform(name);
}

function readCustomCall(item: JsonObject, pointer: string, turn: TurnCollector): void {
  const { call_id: id, name, input, status } = item;
  turn.add(
    {
      id: readId(id, `${pointer}/call_id`),
      name: expectString(name, `${pointer}/name`),
      arguments: expectString(input, `${pointer}/input`),
      custom: true,
    },
    status === "completed",
  );
}
