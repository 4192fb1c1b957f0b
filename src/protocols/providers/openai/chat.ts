import type { ToolResult } from "../../../engine/call/messages.ts";
import type { ToolCall } from "../../../engine/call.ts";
import type { ToolRegistry } from "../../../engine/registry.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../json/value.ts";
import { toArgumentsText, toInputText, toText } from "../../content.ts";
import { createProtocol } from "../../create-protocol.ts";
import type { CallAssembly } from "../../parsing/call-assembly.ts";
import {
  expectAssistantMessage,
  expectNumber,
  expectObject,
  expectObjects,
  expectString,
  ProtocolError,
  providerFailure,
  readContentText,
  readId,
  readReason,
} from "../../parsing/shape.ts";
import type { TurnCollector } from "../../parsing/turn-collector.ts";
import { contradiction, isBlank } from "../../parsing/values.ts";
import type { ProviderProtocol, ProviderShape } from "../../protocol.ts";
import type { OfferedTool } from "../../strict/offer-tools.ts";
import { OPENAI_STRICT } from "../../strict/subsets.ts";
import type { TurnCall } from "../../turn.ts";
import { UNSIGNED } from "../google.ts";
import {
  callData,
  ownCustomCall,
  readChatArguments,
  readChatMessage,
  readOpaqueMembers,
  readOtherCall,
  refuseLegacyCall,
  refuseTwoKinds,
} from "./chat-message.ts";

/** The definition of a tool (OpenAI API reference, "Create chat completion"). */
export type OpenAiTool = OpenAiFunctionTool | OpenAiCustomTool;

/** A free-form tool. */
export interface OpenAiCustomTool {
  readonly type: "custom";
  readonly custom: { readonly name: string; readonly description?: string };
}

/** A tool that takes JSON. */
export interface OpenAiFunctionTool {
  readonly type: "function";
  readonly function: {
    readonly name: string;
    readonly description?: string;
    readonly parameters: Record<string, unknown>;
    readonly strict: boolean;
  };
}

/** An assistant's text and calls. */
export interface OpenAiAssistantMessage {
  readonly role: "assistant";
  readonly content?: string;
  /**
   * The model's reasoning, which DeepSeek and other providers want back. They may have other such members.
   */
  readonly reasoning_content?: string;
  /** Absent if there is none: the provider rejects an empty list. */
  readonly tool_calls?: (OpenAiToolCall | OpenAiCustomToolCall)[];
}

/** One call of a free-form tool. */
export interface OpenAiCustomToolCall {
  readonly id: string;
  readonly type: "custom";
  readonly custom: { readonly name: string; readonly input: string };
}

/** One call of a function. `arguments` is JSON text. */
export interface OpenAiToolCall {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; readonly arguments: string };
  /** Data that Gemini wants back with the call. */
  readonly extra_content?: JsonObject;
}

/** The result of one call. The format does not mark errors, so the text has to name them. */
export interface OpenAiToolMessage {
  readonly role: "tool";
  readonly tool_call_id: string;
  readonly content: string;
}

/**
 * OpenAI Chat Completions and compatible servers. Reads an assistant message, a chat completion (its first choice), or
 * its chunks, and those of Ollama's own API. Results are text only: images are replaced by a placeholder.
 */
export function openAiChatProtocol(
  registry: ToolRegistry<never>,
): ProviderProtocol<OpenAiTool[], OpenAiAssistantMessage | OpenAiToolMessage> {
  return createProtocol(OPENAI_CHAT_SHAPE, registry);
}

const OPENAI_CHAT_SHAPE: ProviderShape<OpenAiTool[], OpenAiAssistantMessage | OpenAiToolMessage> = {
  format: "openai",
  strict: OPENAI_STRICT,
  takesText: true,
  writeTools: (tools) => tools.map(writeTool),
  readMessage(message, turn) {
    if (isJsonObject(message) && message["choices"] !== undefined) {
      const choices = expectObjects(message["choices"], "/choices");
      const position = Math.max(
        choices.findIndex(({ index = 0 }) => index === 0),
        0,
      );
      const pointer = `/choices/${position}`;
      const choice = expectObject(choices[position], pointer);
      const own = expectAssistantMessage(choice["message"], `${pointer}/message`);
      readChatMessage(own, `${pointer}/message`, turn);
      return readReason(choice["finish_reason"]);
    }
    if (isJsonObject(message) && message["message"] !== undefined) {
      readChatMessage(expectAssistantMessage(message["message"], "/message"), "/message", turn);
      return readReason(message["done_reason"]);
    }
    readChatMessage(expectAssistantMessage(message, ""), "", turn);
    return undefined;
  },
  readEvent: readChatChunk,
  writeTurn: ({ calls, text, members, lacksData }) => {
    const [first, ...others] = calls;
    // The first call of a turn has Gemini's signature. The next one takes its place without one.
    const isUnsigned = lacksData && first !== undefined && first.providerData === undefined;
    const written = isUnsigned ? [{ ...first, providerData: UNSIGNED_DATA }, ...others] : calls;
    return [
      {
        role: "assistant",
        ...members,
        ...(text !== "" && { content: text }),
        ...(calls.length > 0 && { tool_calls: written.map(writeAnyCall) }),
      },
    ];
  },
  writeResults: writeToolMessages,
};

function writeTool({ name, description, inputSchema, freeform, strict }: OfferedTool): OpenAiTool {
  const named = { name, ...(description !== undefined && { description }) };
  if (freeform) return { type: "custom", custom: named };
  return { type: "function", function: { ...named, parameters: { ...inputSchema }, strict } };
}

const UNSIGNED_DATA: JsonObject = { extra_content: { google: { thought_signature: UNSIGNED } } };

function writeAnyCall(call: TurnCall): OpenAiToolCall | OpenAiCustomToolCall {
  const { id, name, arguments: args } = call;
  const extra = call.providerData?.["extra_content"];
  if (!call.custom) return { ...writeCall(call), ...(isJsonObject(extra) && { extra_content: extra }) };
  return { id, type: "custom", custom: { name, input: toInputText(args) } };
}

/** Writes one message per result. */
function writeToolMessages(results: readonly ToolResult[]): OpenAiToolMessage[] {
  return results.map(({ callId, content }) => ({
    role: "tool",
    tool_call_id: callId,
    content: toText(content),
  }));
}

/** Writes one entry of `tool_calls`. */
export function writeCall({ id, name, arguments: args }: ToolCall): OpenAiToolCall {
  return { id, type: "function", function: { name, arguments: toArgumentsText(args) } };
}

/**
 * Reads a chunk of a streamed chat completion (OpenAI API reference, "The chat completion chunk object"), only its
 * first choice. Calls have ended when the choice has finished, as more of any of them may arrive before that.
 */
function readChatChunk(chunk: JsonObject, turn: TurnCollector): void {
  if (chunk["error"] !== undefined && chunk["error"] !== null) throw providerFailure("/error");
  // Some servers send usage or keep-alive chunks without choices.
  if (chunk["choices"] === undefined || chunk["choices"] === null) {
    readOllamaChunk(chunk, turn);
    return;
  }
  const choices = expectObjects(chunk["choices"], "/choices");
  const position = choices.findIndex(({ index = 0 }) => index === 0);
  const choice = choices[position];
  if (choice === undefined) return;
  const { delta, message, finish_reason: finish } = choice;
  if (delta !== undefined && delta !== null) readDelta(delta, `/choices/${position}/delta`, turn);
  // Some servers send the whole message beside its last piece, or in its place.
  if (isJsonObject(message)) readWhole(message, `/choices/${position}/message`, turn);
  const reason = readReason(finish);
  if (reason === undefined) return;
  turn.closeAll();
  turn.stop(reason);
  turn.finish();
}

/** Reads a chunk of Ollama's own API, in which every call is complete. */
function readOllamaChunk(chunk: JsonObject, turn: TurnCollector): void {
  const { message, done, done_reason: reason } = chunk;
  if (typeof done !== "boolean") return;
  if (isJsonObject(message)) readChatMessage(expectAssistantMessage(message, "/message"), "/message", turn);
  if (!done) return;
  turn.stop(readReason(reason));
  turn.finish();
}

/** Reads a whole message that may repeat what arrived in pieces. */
function readWhole(message: JsonObject, pointer: string, turn: TurnCollector): void {
  expectAssistantMessage({ role: "assistant", ...message }, pointer);
  if (turn.text === "") turn.addText(readContentText(message["content"]));
  const list = message["tool_calls"];
  if (list === undefined || list === null) return;
  const calls = expectObjects(list, `${pointer}/tool_calls`);
  for (const [at, call] of calls.entries()) {
    const known = turn.withId(typeof call["id"] === "string" ? call["id"] : "") ?? turn.at(at);
    const where = `${pointer}/tool_calls/${at}`;
    if (known === undefined) {
      readPiece({ index: at, ...call }, where, turn);
      continue;
    }
    const { name, arguments: args } = expectObject(call["function"] ?? {}, `${where}/function`);
    known.agreeOnId(readId(call["id"], `${where}/id`), `${where}/id`);
    known.agreeOnName(expectString(name ?? "", `${where}/function/name`), `${where}/function/name`);
    const whole = readChatArguments(args, `${where}/function/arguments`);
    known.agreeOnArguments(whole, `${where}/function/arguments`);
  }
}

function readDelta(value: unknown, pointer: string, turn: TurnCollector): void {
  const delta = expectObject(value, pointer);
  const { role, content, tool_calls: pieces, function_call: legacy } = delta;
  // Calls in any other message must not run. Some servers send an empty role.
  if (role !== undefined && role !== null && role !== "") expectAssistantMessage(delta, pointer);
  refuseLegacyCall(legacy, pieces, `${pointer}/function_call`);
  readOpaqueMembers(delta, turn);
  turn.addText(readContentText(content));
  if (pieces === undefined || pieces === null) return;
  for (const [at, piece] of expectObjects(pieces, `${pointer}/tool_calls`).entries()) {
    readPiece(piece, `${pointer}/tool_calls/${at}`, turn);
  }
}

function readPiece(piece: JsonObject, pointer: string, turn: TurnCollector): void {
  refuseTwoKinds(piece, pointer);
  if (readCustomPiece(piece, pointer, turn)) return;
  const { function: called } = piece;
  if (readOtherCall(piece, turn)) {
    turn.ignore(keyOf(piece, undefined, pointer, turn));
    return;
  }
  const { name, arguments: given } = expectObject(called ?? {}, `${pointer}/function`);
  const id = readId(piece["id"], `${pointer}/id`);
  const text = expectString(name ?? "", `${pointer}/function/name`);
  const args = readChatArguments(given, `${pointer}/function/arguments`);
  const isKeyless = isMissing(piece["index"]) && id === "" && text === "";
  if (isKeyless && turn.openBlank > 1 && !isBlank(args)) {
    throw new ProtocolError(
      `${pointer}/index`,
      "is missing, and nothing else says which call this continues",
    );
  }
  turn.hasGuessed ||= isKeyless;
  const key = keyOf(piece, name, pointer, turn);
  if (turn.isIgnored(key) && id === "" && text === "") return;
  const call = callAt(key, { id, name: text, arguments: args }, pointer, turn);
  if (call === undefined) return;
  call.continueName(text, `${pointer}/function/name`);
  call.providerData ??= callData(piece).providerData;
  if (typeof args === "string") call.append(args, `${pointer}/function/arguments`);
  else call.agreeOnArguments(args, `${pointer}/function/arguments`);
}

/**
 * Returns the call that a piece belongs to, or starts it. Later pieces repeat the id, omit it, or are the first to have it.
 * Another id with a name is a new call, even with the same index.
 *
 * @throws {ProtocolError} if the index and the id name different calls.
 */
function callAt(
  key: string | number,
  { id, name, arguments: args }: { id: string; name: string; arguments: JsonValue | undefined },
  pointer: string,
  turn: TurnCollector,
): CallAssembly | undefined {
  const known = turn.at(key);
  if (known !== undefined && (id === "" || known.id === "" || known.id === id)) {
    if (known.state !== "open" && isBlank(args) && (name === "" || name === known.name)) return undefined;
    known.agreeOnId(id, `${pointer}/id`);
    return known;
  }
  if (name === "" && (known !== undefined || turn.withId(id) !== undefined)) {
    throw contradiction(`${pointer}/id`);
  }
  turn.close(key);
  return turn.open(key, { id, name: "", arguments: null });
}

/** Reads a piece of a custom tool's call: the first has type and name, the others only input. Returns whether it is one. */
function readCustomPiece(piece: JsonObject, pointer: string, turn: TurnCollector): boolean {
  const { custom } = piece;
  if (!isJsonObject(custom)) return false;
  const own = ownCustomCall(piece, turn);
  // `readOtherCall` reads it.
  if (own === undefined && typeof piece["type"] === "string") return false;
  const id = readId(piece["id"], `${pointer}/id`);
  const key = keyOf(piece, custom["name"], pointer, turn);
  const known = turn.openAt(key);
  if (own !== undefined && (known === undefined || (id !== "" && known.id !== "" && known.id !== id))) {
    turn.close(key);
    turn.open(key, { id, name: own.name, arguments: "", custom: true });
  }
  const input = expectString(custom["input"] ?? "", `${pointer}/custom/input`);
  const call = turn.at(key);
  if (call !== undefined && !call.custom && input !== "") throw contradiction(`${pointer}/custom`);
  if (call !== undefined) {
    call.agreeOnId(id, `${pointer}/id`);
    call.agreeOnName(expectString(custom["name"] ?? "", `${pointer}/custom/name`), `${pointer}/custom/name`);
  }
  turn.append(key, input, `${pointer}/custom/input`);
  return true;
}

/** Returns the call's index. Some servers omit it: then its id, or the key of the last call that it can continue. */
function keyOf(
  { id, index }: JsonObject,
  name: unknown,
  pointer: string,
  turn: TurnCollector,
): string | number {
  if (!isMissing(index)) return expectNumber(index, `${pointer}/index`);
  const last = turn.lastKey;
  const open = last === undefined ? undefined : turn.at(last);
  const isNamed = typeof name === "string" && name !== "";
  if (typeof id === "string" && id !== "") {
    // It may be the first piece with the id of the last call.
    const isLast = open !== undefined && last !== undefined && open.id === "" && !isNamed;
    return isLast ? last : id;
  }
  const isNext = isNamed && open?.hasArguments === true;
  return last === undefined || isNext ? turn.count : last;
}

function isMissing(value: unknown): boolean {
  return value === undefined || value === null;
}
