import type { ToolCall } from "../engine/call.ts";
import { type AssistantMessage, buildToolResultMessages, type ToolMessage } from "../engine/messages.ts";
import { type Protocol, ProtocolError } from "./protocol.ts";
import { expectArray, expectAssistantMessage, expectObject, expectString } from "./shape.ts";

/**
 * Sandgate's own format: `{ role: "assistant", toolCalls: [{ id, name, arguments }] }`, or the bare list of
 * calls. `arguments` is JSON text or the value itself.
 */
export const nativeProtocol: Protocol<AssistantMessage | ToolMessage> = Object.freeze({
  readCalls(message: unknown): readonly ToolCall[] {
    if (Array.isArray(message)) return readCallList(message, "");
    const { toolCalls } = expectAssistantMessage(message, "");
    return toolCalls === undefined ? [] : readCallList(toolCalls, "/toolCalls");
  },
  toMessages: buildToolResultMessages,
});

function readCallList(list: unknown, pointer: string): readonly ToolCall[] {
  return expectArray(list, pointer).map((item, index) => readCall(item, `${pointer}/${index}`));
}

function readCall(value: unknown, pointer: string): ToolCall {
  const { id, name, arguments: args } = expectObject(value, pointer);
  if (args === undefined) throw new ProtocolError(`${pointer}/arguments`, "is missing");
  return {
    id: expectString(id, `${pointer}/id`),
    name: expectString(name, `${pointer}/name`),
    arguments: args,
  };
}
