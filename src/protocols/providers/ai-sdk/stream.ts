import { isJsonObject, type JsonObject, type JsonValue } from "../../../json/value.ts";
import { ProtocolError } from "../../parsing/protocol-error.ts";
import { expectString, providerFailure, readReason } from "../../parsing/shape.ts";
import type { TurnCollector } from "../../parsing/turn-collector.ts";

/**
 * Reads a part of a stream of AI SDK 7: a language model's (`LanguageModelV4StreamPart`), that of `streamText`
 * (`TextStreamPart`), or one for a browser (`UIMessageChunk`).
 */
export function readAiSdkPart(part: JsonObject, turn: TurnCollector): void {
  switch (part["type"]) {
    case "error":
      throw providerFailure("");
    case "text-delta":
      turn.confirm();
      turn.addText(part["text"] ?? part["delta"]);
      break;
    case "tool-input-start":
      readStart(part, turn);
      break;
    case "tool-call":
    case "tool-input-available":
    case "tool-input-error":
      turn.confirm();
      turn.drop(expectString(part["toolCallId"], "/toolCallId"));
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
export function readFinishReason(reason: JsonValue | undefined): string | undefined {
  return readReason(isJsonObject(reason) ? reason["unified"] : reason);
}

/** Opens a call, although the complete call follows, so that a stream that ends before it is detected. */
function readStart(part: JsonObject, turn: TurnCollector): void {
  turn.confirm();
  if (part["providerExecuted"] === true) return;
  const key = expectString(part["id"] ?? part["toolCallId"], "/id");
  turn.open(key, { id: key, name: expectString(part["toolName"], "/toolName"), arguments: null });
}

/** Reads a part of type `tool-call`. In a language model's part, the input is JSON text. @throws {ProtocolError} */
export function readAiSdkCall(part: JsonObject, pointer: string, turn: TurnCollector): void {
  const { type, toolCallId, toolName, input, providerExecuted } = part;
  if (providerExecuted === true) {
    turn.addOther(String(type), part, toolCallId, toolName);
    return;
  }
  if (input === undefined) throw new ProtocolError(`${pointer}/input`, "is missing");
  // The SDK writes an empty object for arguments that have not arrived.
  const isEmpty = typeof input === "string" ? /^\s*\{\s*\}\s*$/.test(input) : isEmptyObject(input);
  turn.add(
    {
      id: expectString(toolCallId, `${pointer}/toolCallId`),
      name: expectString(toolName, `${pointer}/toolName`),
      arguments: input,
    },
    isEmpty ? false : undefined,
  );
}

function isEmptyObject(value: JsonValue): boolean {
  return isJsonObject(value) && Object.keys(value).length === 0;
}
