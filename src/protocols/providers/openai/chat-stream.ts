import { isJsonObject, type JsonObject } from "../../../json/value.ts";
import {
  expectAssistantMessage,
  expectNumber,
  expectObject,
  expectObjects,
  expectString,
  providerFailure,
  readId,
  readReason,
} from "../../parsing/shape.ts";
import type { TurnCollector } from "../../parsing/turn-collector.ts";
import {
  ownCustomCall,
  readChatArguments,
  readChatMessage,
  readOtherCall,
  refuseLegacyCall,
} from "./chat-message.ts";

/**
 * Reads a chunk of a streamed chat completion (OpenAI API reference, "The chat completion chunk object"), only its
 * first choice. Calls have ended when the choice has finished, as more of any of them may arrive before that.
 */
export function readChatChunk(chunk: JsonObject, turn: TurnCollector): void {
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
  const { delta, finish_reason: finish } = choice;
  if (delta !== undefined && delta !== null) readDelta(delta, `/choices/${position}/delta`, turn);
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

function readDelta(value: unknown, pointer: string, turn: TurnCollector): void {
  const { content, tool_calls: pieces, function_call: legacy } = expectObject(value, pointer);
  refuseLegacyCall(legacy, pieces, `${pointer}/function_call`);
  turn.addText(content);
  if (pieces === undefined || pieces === null) return;
  for (const [at, piece] of expectObjects(pieces, `${pointer}/tool_calls`).entries()) {
    readPiece(piece, `${pointer}/tool_calls/${at}`, turn);
  }
}

function readPiece(piece: JsonObject, pointer: string, turn: TurnCollector): void {
  const { id, function: called } = piece;
  if (readCustomPiece(piece, pointer, turn) || readOtherCall(piece, turn)) return;
  const { name, arguments: given } = expectObject(called ?? {}, `${pointer}/function`);
  const key = keyOf(piece, name, pointer, turn);
  // Later pieces repeat or omit the id. A new id is a new call, even with the same index.
  const isNew = typeof id === "string" && id !== "" && id !== turn.idAt(key);
  const args = readChatArguments(given, `${pointer}/function/arguments`);
  const isText = typeof args === "string";
  if (isNew || turn.idAt(key) === undefined) {
    turn.close(key);
    const whole = isText || args === undefined ? null : args;
    turn.open(key, { id: readId(id, `${pointer}/id`), name: "", arguments: whole });
  }
  if (name !== undefined && name !== null)
    turn.appendName(key, expectString(name, `${pointer}/function/name`));
  if (isText) turn.append(key, args);
}

/** Reads a piece of a custom tool's call: the first has type and name, the others only input. Returns whether it is one. */
function readCustomPiece(piece: JsonObject, pointer: string, turn: TurnCollector): boolean {
  const { id, custom } = piece;
  if (!isJsonObject(custom)) return false;
  const own = ownCustomCall(piece, turn);
  // It is noted among the other calls.
  if (own === undefined && typeof piece["type"] === "string") return false;
  const key = keyOf(piece, custom["name"], pointer, turn);
  if (own !== undefined) {
    turn.close(key);
    const { name } = own;
    turn.open(key, { id: readId(id, `${pointer}/id`), name, arguments: "", custom: true });
  }
  const { input = "" } = custom;
  if (turn.isCustom(key)) turn.append(key, expectString(input, `${pointer}/custom/input`));
  return true;
}

/** Returns the call's index. Some servers omit it: then its id, or the key of the last call that it can continue. */
function keyOf(
  { id, index }: JsonObject,
  name: unknown,
  pointer: string,
  turn: TurnCollector,
): string | number {
  if (index !== undefined && index !== null) return expectNumber(index, `${pointer}/index`);
  if (typeof id === "string" && id !== "") return id;
  const last = turn.lastKey;
  const isNext = typeof name === "string" && name !== "" && last !== undefined && turn.hasArguments(last);
  return last === undefined || isNext ? turn.count : last;
}
