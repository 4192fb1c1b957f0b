import type { ToolCall } from "../../../engine/call/call.ts";
import type { JsonObject } from "../../../json/value.ts";
import type { CallCollector } from "../../parsing/call-collector.ts";
import { ProtocolError } from "../../parsing/protocol-error.ts";
import { expectString, providerFailure } from "../../parsing/shape.ts";

/**
 * Reads a part of a stream of AI SDK 7: a language model's (`LanguageModelV4StreamPart`), that of `streamText`
 * (`TextStreamPart`), or one for a browser (`UIMessageChunk`).
 */
export function readAiSdkPart(part: JsonObject, calls: CallCollector): void {
  switch (part["type"]) {
    case "error":
      throw providerFailure("");
    case "text-delta":
      calls.addText(part["text"] ?? part["delta"]);
      break;
    case "tool-input-start":
      readStart(part, calls);
      break;
    case "tool-call":
    case "tool-input-available":
    case "tool-input-error":
      readWhole(part, calls);
  }
}

/** Opens a call, although the complete call follows, so that a stream that ends before it is detected. */
function readStart(part: JsonObject, calls: CallCollector): void {
  if (part["providerExecuted"] === true) return;
  const key = expectString(part["id"] ?? part["toolCallId"], "/id");
  calls.open(key, key, expectString(part["toolName"], "/toolName"), null);
}

function readWhole(part: JsonObject, calls: CallCollector): void {
  if (part["providerExecuted"] === true) return;
  const call = readAiSdkCall(part, "");
  calls.drop(call.id);
  calls.add(call);
}

/** Reads a part of type `tool-call`. In a language model's part, the input is JSON text. */
export function readAiSdkCall({ toolCallId, toolName, input }: JsonObject, pointer: string): ToolCall {
  if (input === undefined) throw new ProtocolError(`${pointer}/input`, "is missing");
  return {
    id: expectString(toolCallId, `${pointer}/toolCallId`),
    name: expectString(toolName, `${pointer}/toolName`),
    arguments: input,
  };
}
