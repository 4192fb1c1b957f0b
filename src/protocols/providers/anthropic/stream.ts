import type { JsonObject, JsonValue } from "../../../json/value.ts";
import { ProtocolError } from "../../parsing/protocol-error.ts";
import {
  expectAssistantMessage,
  expectNumber,
  expectObject,
  expectString,
  providerFailure,
  readReason,
} from "../../parsing/shape.ts";
import type { TurnCollector } from "../../parsing/turn-collector.ts";
import { isOpaqueBlock, readBlocks, readServerToolUse, readToolUse } from "./blocks.ts";

/** The blocks whose pieces are not JSON. */
const PLAIN: ReadonlySet<unknown> = new Set(["thinking", "redacted_thinking", "compaction"]);
/** The pieces of opaque blocks, and the members that they continue. */
const OPAQUE_DELTAS: Readonly<Record<string, string>> = {
  thinking_delta: "thinking",
  signature_delta: "signature",
  compaction_delta: "content",
};

/** Reads an event of a streamed message (Anthropic, "Streaming Messages"). */
export function readMessagesEvent(event: JsonObject, turn: TurnCollector): void {
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

/** Reads the start of a message. One that resumes after the provider's code execution has its calls, and why it stopped. */
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

/** Parses the input of a block of the provider's own tools. One that was cut off stays text. */
function parseInput(block: Record<string, JsonValue>): void {
  const { partial_json: text } = block;
  if (typeof text !== "string") return;
  try {
    block["input"] = JSON.parse(text);
    delete block["partial_json"];
  } catch {
    // It is not sent back.
  }
}
