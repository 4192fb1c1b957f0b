import type { JsonObject } from "../../../json/value.ts";
import type { CallCollector } from "../../parsing/call-collector.ts";
import { ProtocolError } from "../../parsing/protocol-error.ts";
import {
  expectNumber,
  expectObject,
  expectObjects,
  expectString,
  providerFailure,
} from "../../parsing/shape.ts";

/**
 * Reads a chunk of a streamed chat completion (OpenAI API reference, "The chat completion chunk object"); of
 * several choices, the first. Calls are complete when the choice has finished: before that, more of any of them
 * may come.
 */
export function readChatChunk(chunk: JsonObject, calls: CallCollector): void {
  if (chunk["error"] !== undefined && chunk["error"] !== null) throw providerFailure("/error");
  // Some servers tell the usage, or that they are alive, without any.
  if (chunk["choices"] === undefined || chunk["choices"] === null) return;
  const choices = expectObjects(chunk["choices"], "/choices");
  const position = choices.findIndex(({ index = 0 }) => index === 0);
  const choice = choices[position];
  if (choice === undefined) return;
  const { delta, finish_reason: finish } = choice;
  if (delta !== undefined && delta !== null) readDelta(delta, `/choices/${position}/delta`, calls);
  if (finish !== undefined && finish !== null) calls.closeAll();
}

function readDelta(value: unknown, pointer: string, calls: CallCollector): void {
  const { content, tool_calls: pieces, function_call: legacy } = expectObject(value, pointer);
  if (legacy !== undefined && legacy !== null) {
    const reason = "has no id, so no result can answer it: offer the functions as tools";
    throw new ProtocolError(`${pointer}/function_call`, reason);
  }
  calls.addText(content);
  if (pieces === undefined || pieces === null) return;
  for (const [at, piece] of expectObjects(pieces, `${pointer}/tool_calls`).entries()) {
    readPiece(piece, `${pointer}/tool_calls/${at}`, calls);
  }
}

function readPiece(piece: JsonObject, pointer: string, calls: CallCollector): void {
  const { id, type, function: called } = piece;
  if (type !== undefined && type !== null && type !== "function" && type !== "") {
    throw new ProtocolError(`${pointer}/type`, 'must be "function"');
  }
  const { name, arguments: args } = expectObject(called ?? {}, `${pointer}/function`);
  const key = keyOf(piece, pointer, calls);
  // Later pieces repeat the id, or leave it out. A new one is a new call, whatever its index is.
  const isNew = typeof id === "string" && id !== "" && id !== calls.idAt(key);
  if (isNew || calls.idAt(key) === undefined) {
    calls.close(key);
    calls.open(key, expectString(id, `${pointer}/id`), expectString(name, `${pointer}/function/name`), "");
  }
  if (args !== undefined && args !== null) {
    calls.append(key, expectString(args, `${pointer}/function/arguments`));
  }
}

/** The call's index. Some servers leave it out: then its id, or nothing where the last call goes on. */
function keyOf({ id, index }: JsonObject, pointer: string, calls: CallCollector): string | number {
  if (index !== undefined && index !== null) return expectNumber(index, `${pointer}/index`);
  if (typeof id === "string" && id !== "") return id;
  return calls.lastKey ?? 0;
}
