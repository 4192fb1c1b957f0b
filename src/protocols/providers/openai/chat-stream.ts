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
 * Reads a chunk of a streamed chat completion (OpenAI API reference, "The chat completion chunk object"), only its
 * first choice. Calls are complete when the choice has finished, as more of any of them may arrive before that.
 */
export function readChatChunk(chunk: JsonObject, calls: CallCollector): void {
  if (chunk["error"] !== undefined && chunk["error"] !== null) throw providerFailure("/error");
  // Some servers send usage or keep-alive chunks without choices.
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
    const reason = "has no id, so it cannot be answered: offer the functions as tools";
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
  // Later pieces repeat or omit the id. A new id is a new call, even with the same index.
  const isNew = typeof id === "string" && id !== "" && id !== calls.idAt(key);
  if (isNew || calls.idAt(key) === undefined) {
    calls.close(key);
    calls.open(key, expectString(id, `${pointer}/id`), expectString(name, `${pointer}/function/name`), "");
  }
  if (args !== undefined && args !== null) {
    calls.append(key, expectString(args, `${pointer}/function/arguments`));
  }
}

/** Returns the call's index. Some servers omit it: then its id, or the key of the last call. */
function keyOf({ id, index }: JsonObject, pointer: string, calls: CallCollector): string | number {
  if (index !== undefined && index !== null) return expectNumber(index, `${pointer}/index`);
  if (typeof id === "string" && id !== "") return id;
  return calls.lastKey ?? 0;
}
