import { isJsonObject, type JsonObject, type JsonValue } from "../../../json/value.ts";
import {
  expectArray,
  expectObject,
  expectString,
  ProtocolError,
  readContentText,
  readId,
} from "../../parsing/shape.ts";
import type { TurnCollector } from "../../parsing/turn-collector.ts";
import { agreeOnArguments, agrees, contradiction } from "../../parsing/values.ts";

/** Reads a whole assistant message. @throws {ProtocolError} */
export function readChatMessage(message: JsonObject, pointer: string, turn: TurnCollector): void {
  const { content, tool_calls: list, function_call: legacy } = message;
  readOpaqueMembers(message, turn);
  turn.addText(readContentText(content));
  refuseLegacyCall(legacy, list, `${pointer}/function_call`);
  readChatCalls(list, `${pointer}/tool_calls`, turn);
}

/**
 * The members of an assistant's message that servers want back with it: DeepSeek and Moonshot
 * (`reasoning_content`, even if it is empty), OpenRouter (`reasoning_details`), GitHub Copilot
 * (`reasoning_opaque`), Gemini (`extra_content`), LiteLLM (`thinking_blocks`).
 */
const OPAQUE = [
  "reasoning_content",
  "reasoning",
  "reasoning_text",
  "reasoning_opaque",
  "reasoning_details",
  "thinking_blocks",
  "extra_content",
];

/** Reads the members of a message, or of a piece of one, that are sent back with it. */
export function readOpaqueMembers(message: JsonObject, turn: TurnCollector): void {
  for (const name of OPAQUE) turn.opaque.continueMember(name, message[name]);
}

/** Returns data that a server wants back with a call: Gemini's thought signature. */
export function callData({ extra_content: extra }: JsonObject): { readonly providerData?: JsonObject } {
  return isJsonObject(extra) ? { providerData: { extra_content: extra } } : {};
}

/** Reads a message's `tool_calls`. Some servers send null if there are none. @throws {ProtocolError} */
export function readChatCalls(list: unknown, pointer: string, turn: TurnCollector): void {
  if (list === undefined || list === null) return;
  for (const [index, item] of expectArray(list, pointer).entries()) {
    readChatCall(item, `${pointer}/${index}`, turn);
  }
}

function readChatCall(value: unknown, pointer: string, turn: TurnCollector): void {
  const call = expectObject(value, pointer);
  refuseTwoKinds(call, pointer);
  const custom = ownCustomCall(call, turn);
  if (custom !== undefined) {
    const id = readId(call["id"], `${pointer}/id`);
    const input = expectString(custom.input, `${pointer}/custom/input`);
    turn.add({ id, name: custom.name, arguments: input, custom: true });
    return;
  }
  if (readOtherCall(call, turn)) return;
  const { name, arguments: args } = expectObject(call["function"], `${pointer}/function`);
  turn.add({
    id: readId(call["id"], `${pointer}/id`),
    name: expectString(name, `${pointer}/function/name`),
    arguments: readChatArguments(args, `${pointer}/function/arguments`),
    ...callData(call),
  });
}

/** @throws {ProtocolError} if a call, or a piece of one, is both a function's and a custom tool's. */
export function refuseTwoKinds({ function: called, custom }: JsonObject, pointer: string): void {
  if (hasContent(called) && hasContent(custom)) throw contradiction(`${pointer}/custom`);
}

function hasContent(value: JsonValue | undefined): boolean {
  return isJsonObject(value) && Object.values(value).some((member) => member !== null && member !== "");
}

/** Reads arguments: JSON text or, from some servers, an object. @throws {ProtocolError} */
export function readChatArguments(args: JsonValue | undefined, pointer: string): JsonValue | undefined {
  if (args === undefined || args === null || isJsonObject(args)) return args;
  return expectString(args, pointer);
}

/** Returns name and input of a call of type `custom`; `undefined` if it is not of one of the registry's free-form tools. */
export function ownCustomCall(
  { type, custom }: JsonObject,
  turn: TurnCollector,
): { readonly name: string; readonly input: JsonValue | undefined } | undefined {
  if (type !== "custom" || !isJsonObject(custom)) return undefined;
  const { name, input } = custom;
  return turn.isFreeform(name) ? { name, input } : undefined;
}

/** Adds a call of a tool that is not a function to `other`. Returns whether the call is one. Some servers omit the type. */
export function readOtherCall(call: JsonObject, turn: TurnCollector): boolean {
  const { type, id } = call;
  if (type === undefined || type === null || type === "" || type === "function") return false;
  const called = typeof type === "string" ? call[type] : undefined;
  turn.addOther(String(type), call, id, isJsonObject(called) ? called["name"] : undefined);
  return true;
}

/**
 * Refuses a call in the deprecated `function_call`. Some servers send an empty one, or repeat one of `tool_calls` there.
 *
 * @throws {ProtocolError} if it is the only call, or another one.
 */
export function refuseLegacyCall(legacy: unknown, toolCalls: unknown, pointer: string): void {
  if (legacy === undefined || legacy === null) return;
  const { name = "", arguments: args = "" } = expectObject(legacy, pointer);
  if ((name === "" || name === null) && (args === "" || args === null)) return;
  if (!Array.isArray(toolCalls) || toolCalls.length === 0) {
    throw new ProtocolError(pointer, "has no id, so it cannot be answered: offer the functions as tools");
  }
  const isRepeated = toolCalls.some((call: unknown) => {
    const called = isJsonObject(call) && isJsonObject(call["function"]) ? call["function"] : {};
    const isNamed = name === "" || name === null || name === called["name"];
    return isNamed && agrees(() => agreeOnArguments(args, called["arguments"], pointer));
  });
  if (!isRepeated) throw contradiction(pointer);
}
