import type { AssistantMessage, ToolMessage } from "../../engine/call/messages.ts";
import type { ToolDefinition } from "../../engine/definition.ts";
import type { ToolRegistry } from "../../engine/registry.ts";
import type { JsonObject } from "../../json/value.ts";
import { createProtocol } from "../create-protocol.ts";
import type { RawCall } from "../parsing/call-assembly.ts";
import {
  expectArray,
  expectAssistantMessage,
  expectObject,
  expectString,
  ProtocolError,
} from "../parsing/shape.ts";
import type { TurnCollector } from "../parsing/turn-collector.ts";
import type { ProviderProtocol, ProviderShape } from "../protocol.ts";

/**
 * Sandgate's own format: `{ role: "assistant", text, toolCalls: [{ id, name, arguments }] }`, the bare list of
 * calls, or a stream of such messages and single calls. `arguments` is JSON text or the value itself; for a free-form
 * tool, its text. Names are not aliased.
 */
export function nativeProtocol(
  registry: ToolRegistry<never>,
): ProviderProtocol<ToolDefinition[], AssistantMessage | ToolMessage> {
  return createProtocol(NATIVE_SHAPE, registry);
}

const NATIVE_SHAPE: ProviderShape<ToolDefinition[], AssistantMessage | ToolMessage> = {
  format: "native",
  takesAnyName: true,
  takesText: true,
  writeTools: (tools) =>
    tools.map(({ name, description = "", inputSchema, freeform }) => ({
      name,
      description,
      inputSchema,
      ...(freeform && { freeform }),
    })),
  readMessage(message, turn) {
    if (Array.isArray(message)) readCallList(message, "", turn);
    else readTurn(expectAssistantMessage(message, ""), turn);
    return undefined;
  },
  readEvent(event, turn) {
    if (event["role"] === undefined) turn.add(readCall(event, "", turn), true);
    else readTurn(event, turn);
  },
  writeTurn: ({ calls, text }) => [
    {
      role: "assistant",
      ...(text !== "" && { text }),
      toolCalls: calls.map(({ id, name, arguments: args }) => ({ id, name, arguments: args })),
    },
  ],
  writeResults: (results) => [{ role: "tool", results }],
};

function readTurn(message: JsonObject, turn: TurnCollector): void {
  const { text = "", toolCalls } = expectAssistantMessage(message, "");
  turn.addText(expectString(text, "/text"));
  if (toolCalls !== undefined) readCallList(toolCalls, "/toolCalls", turn);
}

function readCallList(list: unknown, pointer: string, turn: TurnCollector): void {
  for (const [index, item] of expectArray(list, pointer).entries()) {
    turn.add(readCall(item, `${pointer}/${index}`, turn), true);
  }
}

function readCall(value: unknown, pointer: string, turn: TurnCollector): RawCall {
  const { id, name, arguments: args } = expectObject(value, pointer);
  if (args === undefined) throw new ProtocolError(`${pointer}/arguments`, "is missing");
  const isText = typeof args === "string" && turn.isFreeform(name);
  return {
    id: expectString(id, `${pointer}/id`),
    name: expectString(name, `${pointer}/name`),
    arguments: args,
    ...(isText && { custom: true }),
  };
}
