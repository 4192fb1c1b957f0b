import type { ToolCall } from "../../../engine/call/call.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../json/value.ts";
import type { CallCollector } from "../../parsing/call-collector.ts";
import { ProtocolError } from "../../parsing/protocol-error.ts";
import { expectArray, expectObject, expectObjects, providerFailure } from "../../parsing/shape.ts";
import { applyPartialArgument } from "./partial-arguments.ts";

/**
 * Reads a chunk of `streamGenerateContent` (its first candidate). A call arrives complete or, if the request enables
 * it, in parts that say whether the call will continue.
 */
export function readGoogleChunk(
  chunk: JsonObject,
  calls: CallCollector,
  readCall: (value: unknown, pointer: string) => ToolCall,
): void {
  if (chunk["error"] !== undefined) throw providerFailure("/error");
  // The last chunk may have only the usage.
  if (chunk["candidates"] === undefined) return;
  const [candidate] = expectArray(chunk["candidates"], "/candidates");
  const content = isJsonObject(candidate) ? candidate["content"] : undefined;
  const list = isJsonObject(content) ? (content["parts"] ?? []) : [];
  for (const [index, part] of expectObjects(list, "/candidates/0/content/parts").entries()) {
    if (part["thought"] !== true) calls.addText(part["text"]);
    if (part["functionCall"] === undefined) continue;
    const pointer = `/candidates/0/content/parts/${index}/functionCall`;
    readPart(expectObject(part["functionCall"], pointer), pointer, calls, readCall);
  }
}

function readPart(
  part: JsonObject,
  pointer: string,
  calls: CallCollector,
  readCall: (value: unknown, pointer: string) => ToolCall,
): void {
  const open = calls.lastKey;
  if (open === undefined && part["willContinue"] !== true && part["partialArgs"] === undefined) {
    calls.add(readCall(part, pointer));
    return;
  }
  if (open !== undefined && part["name"] !== undefined) {
    throw new ProtocolError(`${pointer}/name`, "starts a call before the previous one has ended");
  }
  const key = open ?? 0;
  if (open === undefined) {
    const { id, name, arguments: args } = readCall(part, pointer);
    calls.open(key, id, name, structuredClone(args));
  }
  for (const [index, piece] of expectObjects(part["partialArgs"] ?? [], `${pointer}/partialArgs`).entries()) {
    applyPartialArgument(
      calls.wholeAt(key) as Record<string, JsonValue>,
      piece,
      `${pointer}/partialArgs/${index}`,
    );
  }
  if (part["willContinue"] !== true) calls.close(key);
}
