import { isJsonObject, type JsonObject, type JsonValue } from "../../../json/value.ts";
import { agree, isBlank } from "../../parsing/agree.ts";
import type { CallAssembly, RawCall } from "../../parsing/call-assembly.ts";
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
import type { TurnCollector } from "../../parsing/turn-collector.ts";
import { applyPartialArgument } from "./partial-arguments.ts";

/** Parts that the provider runs itself. */
const OTHER_PARTS: readonly string[] = ["executableCode", "toolCall"];
/** The parts of the provider's own tools, which it wants back. */
const OWN_PARTS: readonly string[] = [...OTHER_PARTS, "codeExecutionResult", "toolResponse"];

/**
 * Reads a response or a chunk of `streamGenerateContent` (its first candidate). A call arrives complete or, if the
 * request enables it, in parts that say whether the call will continue.
 */
export function readGoogleChunk(chunk: JsonObject, turn: TurnCollector): void {
  if (chunk["error"] !== undefined) throw providerFailure("/error");
  const { candidates, promptFeedback: feedback } = chunk;
  const blocked = isJsonObject(feedback) ? readReason(feedback["blockReason"]) : undefined;
  // The last chunk may have only the usage. A chunk may have only another candidate.
  const list = candidates === undefined ? [] : expectArray(candidates, "/candidates");
  const position = list.findIndex((item) => isJsonObject(item) && (item["index"] ?? 0) === 0);
  const candidate = list[position];
  const { content, finishReason } = isJsonObject(candidate) ? candidate : {};
  if (content !== undefined) {
    const pointer = `/candidates/${position}/content`;
    readGoogleContent(expectObject(content, pointer), pointer, turn);
  }
  const reason = agree(readReason(finishReason) ?? "", blocked ?? "", "/promptFeedback/blockReason");
  if (reason === "") return;
  turn.stop(reason);
  turn.finish();
}

/** Reads the content of a turn. Some servers omit the role. @throws {ProtocolError} if it is not the model's. */
export function readGoogleContent({ role, parts }: JsonObject, pointer: string, turn: TurnCollector): void {
  if (role !== undefined && role !== "model") throw new ProtocolError(`${pointer}/role`, 'must be "model"');
  for (const [index, part] of expectObjects(parts ?? [], `${pointer}/parts`).entries()) {
    const { functionCall, thought, thoughtSignature } = part;
    if (functionCall !== undefined) {
      const at = `${pointer}/parts/${index}/functionCall`;
      readCallPart(expectObject(functionCall, at), thoughtSignature, at, turn);
    }
    // A text with a signature is one part: joined with another one, it would lose its place.
    const isSigned = typeof thoughtSignature === "string" && functionCall === undefined;
    const text = thought !== true && typeof part["text"] === "string" ? part["text"] : "";
    if (isSigned) turn.opaque.add(part, text);
    else if (OWN_PARTS.some((type) => part[type] !== undefined)) turn.opaque.add(part);
    turn.addText(text, !isSigned);
    readOther(part, turn);
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
  const { name, args, partialArgs, willContinue } = part;
  const key = turn.lastKey;
  const open = key === undefined ? undefined : turn.at(key);
  if (key === undefined || open === undefined) {
    const call = readFunctionCall(part, signature, pointer);
    if (willContinue !== true && partialArgs === undefined) {
      turn.add(call, true);
      return;
    }
    const pieces = turn.open(turn.count, call);
    applyPieces(pieces, partialArgs, pointer);
    if (willContinue !== true) endCall(pieces, turn.lastKey ?? 0, pointer, turn);
    return;
  }
  if (name !== undefined) {
    throw new ProtocolError(`${pointer}/name`, "starts a call before the previous one has ended");
  }
  open.agreeOnId(readId(part["id"], `${pointer}/id`), `${pointer}/id`);
  if (typeof signature === "string") open.providerData ??= { thoughtSignature: signature };
  open.agreeOnArguments(readArgs(args, pointer), `${pointer}/args`);
  applyPieces(open, partialArgs, pointer);
  if (willContinue !== true) endCall(open, key, pointer, turn);
}

function applyPieces(call: CallAssembly, pieces: JsonValue | undefined, pointer: string): void {
  call.built ??= {};
  for (const [index, piece] of expectObjects(pieces ?? [], `${pointer}/partialArgs`).entries()) {
    const at = `${pointer}/partialArgs/${index}`;
    const path = String(piece["jsonPath"]);
    // Appended again, a text would have it twice.
    if (call.paths.get(path) === "ended" && !isBlank(piece["stringValue"], true)) {
      throw new ProtocolError(at, "continues an argument that has ended");
    }
    applyPartialArgument(call.built, piece, at);
    call.paths.set(path, piece["willContinue"] === true ? "open" : "ended");
  }
}

function endCall(call: CallAssembly, key: string | number, pointer: string, turn: TurnCollector): void {
  if ([...call.paths.values()].includes("open")) throw new ProtocolError(pointer, "ends inside an argument");
  call.agreeOnArguments(call.built, `${pointer}/partialArgs`);
  turn.close(key, true);
}

function readFunctionCall(part: JsonObject, signature: JsonValue | undefined, pointer: string): RawCall {
  const { id, name, args } = part;
  return {
    id: readId(id, `${pointer}/id`),
    name: expectString(name, `${pointer}/name`),
    arguments: readArgs(args, pointer),
    ...(typeof signature === "string" && { providerData: { thoughtSignature: signature } }),
  };
}

function readArgs(args: JsonValue | undefined, pointer: string): JsonObject {
  return expectObject(args ?? {}, `${pointer}/args`);
}
