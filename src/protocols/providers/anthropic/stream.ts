import type { JsonObject } from "../../../json/value.ts";
import {
  expectNumber,
  expectObject,
  expectString,
  providerFailure,
  readReason,
} from "../../parsing/shape.ts";
import type { TurnCollector } from "../../parsing/turn-collector.ts";
import { readBlocks, readServerToolUse, readToolUse } from "./blocks.ts";

/** Reads an event of a streamed message (Anthropic, "Streaming Messages"). */
export function readMessagesEvent(event: JsonObject, turn: TurnCollector): void {
  switch (event["type"]) {
    case "error":
      throw providerFailure("/error");
    case "message_start":
      // A message that resumes after the provider's code execution starts with its calls.
      readBlocks(expectObject(event["message"], "/message")["content"] ?? [], "/message/content", turn);
      turn.confirm();
      break;
    case "content_block_start":
      readBlockStart(event, turn);
      break;
    case "content_block_delta":
      readDelta(event, turn);
      break;
    case "content_block_stop":
      turn.close(expectNumber(event["index"], "/index"));
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

function readBlockStart({ index, content_block: value }: JsonObject, turn: TurnCollector): void {
  turn.confirm();
  const block = expectObject(value, "/content_block");
  if (block["type"] === "text") turn.addText(block["text"]);
  if (readServerToolUse(block, turn) || block["type"] !== "tool_use") return;
  // The input is used if no delta follows.
  turn.open(expectNumber(index, "/index"), readToolUse(block, "/content_block"));
}

function readDelta({ index, delta: value }: JsonObject, turn: TurnCollector): void {
  const delta = expectObject(value, "/delta");
  if (delta["type"] === "text_delta") turn.addText(delta["text"]);
  if (delta["type"] !== "input_json_delta") return;
  const position = expectNumber(index, "/index");
  // The provider's own tools stream their input in the same way.
  if (turn.idAt(position) === undefined) return;
  turn.append(position, expectString(delta["partial_json"], "/delta/partial_json"));
}
