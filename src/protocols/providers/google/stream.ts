import { isJsonObject, type JsonObject, type JsonValue } from "../../../json/value.ts";
import { parseMessage } from "../../parsing/json.ts";
import { ProtocolError } from "../../parsing/protocol-error.ts";
import {
  expectArray,
  expectObject,
  expectObjects,
  expectString,
  providerFailure,
  readId,
  readReason,
} from "../../parsing/shape.ts";
import type { RawCall, TurnCollector } from "../../parsing/turn-collector.ts";
import { applyPartialArgument } from "./partial-arguments.ts";

/** Parts that the provider runs itself. */
const OTHER_PARTS: readonly string[] = ["executableCode", "toolCall"];

/**
 * Reads a response or a chunk of `streamGenerateContent` (its first candidate). A call arrives complete or, if the
 * request enables it, in parts that say whether the call will continue.
 */
export function readGoogleChunk(chunk: JsonObject, turn: TurnCollector): void {
  if (chunk["error"] !== undefined) throw providerFailure("/error");
  const { candidates, promptFeedback: feedback } = chunk;
  const blocked = isJsonObject(feedback) ? readReason(feedback["blockReason"]) : undefined;
  // The last chunk may have only the usage.
  const [candidate] = candidates === undefined ? [] : expectArray(candidates, "/candidates");
  const { content, finishReason } = isJsonObject(candidate) ? candidate : {};
  if (content !== undefined) {
    const pointer = "/candidates/0/content";
    readGoogleContent(expectObject(content, pointer), pointer, turn);
  }
  const reason = readReason(finishReason) ?? blocked;
  if (reason === undefined) return;
  turn.stop(reason);
  turn.finish();
}

/** Reads the content of a turn. Some servers omit the role. @throws {ProtocolError} if it is not the model's. */
export function readGoogleContent({ role, parts }: JsonObject, pointer: string, turn: TurnCollector): void {
  if (role !== undefined && role !== "model") throw new ProtocolError(`${pointer}/role`, 'must be "model"');
  for (const [index, part] of expectObjects(parts ?? [], `${pointer}/parts`).entries()) {
    if (part["thought"] !== true) turn.addText(part["text"]);
    readOther(part, turn);
    if (part["functionCall"] === undefined) continue;
    const at = `${pointer}/parts/${index}/functionCall`;
    readCallPart(expectObject(part["functionCall"], at), part["thoughtSignature"], at, turn);
  }
}

function readOther(part: JsonObject, turn: TurnCollector): void {
  for (const type of OTHER_PARTS) {
    const item = part[type];
    if (isJsonObject(item)) turn.addOther(type, part, item["id"], item["name"]);
  }
}

function readCallPart(
  part: JsonObject,
  signature: JsonValue | undefined,
  pointer: string,
  turn: TurnCollector,
): void {
  const { name, partialArgs, willContinue } = part;
  const open = turn.lastKey;
  if (open === undefined && willContinue !== true && partialArgs === undefined) {
    turn.add(readFunctionCall(part, signature, pointer), true);
    return;
  }
  if (open !== undefined && name !== undefined) {
    throw new ProtocolError(`${pointer}/name`, "starts a call before the previous one has ended");
  }
  const key = open ?? 0;
  if (open === undefined) {
    const call = readFunctionCall(part, signature, pointer);
    // A copy, because the other parts of the arguments are added to it.
    turn.open(key, { ...call, arguments: parseMessage(JSON.stringify(call.arguments)) as JsonObject });
  }
  for (const [index, piece] of expectObjects(partialArgs ?? [], `${pointer}/partialArgs`).entries()) {
    const args = turn.wholeAt(key) as Record<string, JsonValue>;
    applyPartialArgument(args, piece, `${pointer}/partialArgs/${index}`);
  }
  if (willContinue !== true) turn.close(key, true);
}

function readFunctionCall(part: JsonObject, signature: JsonValue | undefined, pointer: string): RawCall {
  const { id, name, args } = part;
  return {
    id: readId(id, `${pointer}/id`),
    name: expectString(name, `${pointer}/name`),
    arguments: expectObject(args ?? {}, `${pointer}/args`),
    ...(typeof signature === "string" && { providerData: { thoughtSignature: signature } }),
  };
}
