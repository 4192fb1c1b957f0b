import type { JsonObject } from "../../../json/value.ts";
import type { CallCollector } from "../../parsing/call-collector.ts";
import { expectNumber, expectObject, expectString, providerFailure } from "../../parsing/shape.ts";
import type { AssistantTurn } from "../../protocol.ts";

/** Reads an event of a streamed message (Anthropic, "Streaming Messages"). */
export function readMessagesEvent(
  event: JsonObject,
  calls: CallCollector,
  readBlocks: (content: unknown, pointer: string) => AssistantTurn,
): void {
  switch (event["type"]) {
    case "error":
      throw providerFailure("/error");
    case "message_start":
      readStart(expectObject(event["message"], "/message"), calls, readBlocks);
      break;
    case "content_block_start":
      readBlockStart(event, calls);
      break;
    case "content_block_delta":
      readDelta(event, calls);
      break;
    case "content_block_stop":
      calls.close(expectNumber(event["index"], "/index"));
  }
}

/** Reads the start of a message. A message that resumes after the provider's code execution starts with its calls. */
function readStart(
  { content }: JsonObject,
  calls: CallCollector,
  readBlocks: (content: unknown, pointer: string) => AssistantTurn,
): void {
  const turn = readBlocks(content ?? [], "/message/content");
  calls.addText(turn.text);
  for (const call of turn.calls) calls.add(call);
}

function readBlockStart({ index, content_block: value }: JsonObject, calls: CallCollector): void {
  const block = expectObject(value, "/content_block");
  if (block["type"] === "text") calls.addText(block["text"]);
  if (block["type"] !== "tool_use") return;
  calls.open(
    expectNumber(index, "/index"),
    expectString(block["id"], "/content_block/id"),
    expectString(block["name"], "/content_block/name"),
    // The input if no delta follows.
    expectObject(block["input"] ?? {}, "/content_block/input"),
  );
}

function readDelta({ index, delta: value }: JsonObject, calls: CallCollector): void {
  const delta = expectObject(value, "/delta");
  if (delta["type"] === "text_delta") calls.addText(delta["text"]);
  if (delta["type"] !== "input_json_delta") return;
  const position = expectNumber(index, "/index");
  // The provider's own tools stream their input in the same way.
  if (calls.idAt(position) === undefined) return;
  calls.append(position, expectString(delta["partial_json"], "/delta/partial_json"));
}
