import type { ToolCall } from "../../engine/call/call.ts";
import type { AssistantMessage, ToolMessage } from "../../engine/call/messages.ts";
import type { ToolDefinition, ToolRegistry } from "../../engine/registry.ts";
import type { JsonObject } from "../../json/value.ts";
import { createProtocol } from "../create-protocol.ts";
import type { CallCollector } from "../parsing/call-collector.ts";
import { ProtocolError } from "../parsing/protocol-error.ts";
import { expectArray, expectAssistantMessage, expectObject, expectString } from "../parsing/shape.ts";
import type { AssistantTurn, ProviderProtocol } from "../protocol.ts";
import type { ProviderShape } from "../provider-shape.ts";

/** An assistant's message with its text and calls. */
export interface NativeAssistantMessage extends AssistantMessage {
  readonly text?: string;
}

/**
 * Sandgate's own format: `{ role: "assistant", text, toolCalls: [{ id, name, arguments }] }`, the bare list of
 * calls, or a stream of such messages and single calls. `arguments` is JSON text or the value itself. Names are not
 * aliased.
 */
export function nativeProtocol(
  registry: ToolRegistry<never>,
): ProviderProtocol<ToolDefinition[], NativeAssistantMessage | ToolMessage> {
  return createProtocol(NATIVE_SHAPE, registry);
}

const NATIVE_SHAPE: ProviderShape<ToolDefinition[], NativeAssistantMessage | ToolMessage> = {
  format: "native",
  takesAnyName: true,
  writeTools: (tools) =>
    tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema })),
  readMessage(message) {
    return Array.isArray(message)
      ? { text: "", calls: readCallList(message, "") }
      : readTurn(expectAssistantMessage(message, ""));
  },
  readEvent(event: JsonObject, calls: CallCollector) {
    const turn = event["role"] === undefined ? { text: "", calls: [readCall(event, "")] } : readTurn(event);
    calls.addText(turn.text);
    for (const call of turn.calls) calls.add(call);
  },
  writeTurn: (toolCalls, text) => [{ role: "assistant", ...(text !== "" && { text }), toolCalls }],
  writeResults: (results) => [{ role: "tool", results }],
};

function readTurn(message: JsonObject): AssistantTurn {
  const { text = "", toolCalls } = expectAssistantMessage(message, "");
  return {
    text: expectString(text, "/text"),
    calls: toolCalls === undefined ? [] : readCallList(toolCalls, "/toolCalls"),
  };
}

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
