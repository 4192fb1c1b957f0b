import type { ToolCall } from "../engine/call/call.ts";
import type { JsonObject } from "../json/value.ts";
import { ProtocolError } from "./parsing/protocol-error.ts";
import { expectString } from "./parsing/shape.ts";

/** Reads a part of type `tool-call`; its input is JSON text where the model's own part is read. */
export function readAiSdkCall({ toolCallId, toolName, input }: JsonObject, pointer: string): ToolCall {
  if (input === undefined) throw new ProtocolError(`${pointer}/input`, "is missing");
  return {
    id: expectString(toolCallId, `${pointer}/toolCallId`),
    name: expectString(toolName, `${pointer}/toolName`),
    arguments: input,
  };
}
