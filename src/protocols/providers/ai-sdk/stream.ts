import { isJsonObject, type JsonObject, type JsonValue } from "../../../json/value.ts";
import { contradiction, isBlank } from "../../parsing/agree.ts";
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
export function readFinishReason(reason: JsonValue | undefined): string | undefined {
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
export function readAiSdkCall(part: JsonObject, pointer: string, turn: TurnCollector): void {
  const { type, toolCallId, toolName, input, providerExecuted } = part;
  const id = expectString(toolCallId, `${pointer}/toolCallId`);
  if (providerExecuted === true) {
    // One that was started as a call of ours would run twice.
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
export function toReasoning(part: JsonObject): JsonObject {
  const { text } = part;
  return { type: "reasoning", text: typeof text === "string" ? text : "", ...withOptions(part) };
}

function withOptions(part: JsonObject): { readonly providerOptions?: JsonObject } {
  const options = optionsOf(part);
  return options === undefined ? {} : { providerOptions: options };
}

/** What a provider wants back with a part: its metadata in a result, its options in a message. */
function optionsOf({ providerMetadata, providerOptions }: JsonObject): JsonObject | undefined {
  const options = providerOptions ?? providerMetadata;
  return isJsonObject(options) ? options : undefined;
}
