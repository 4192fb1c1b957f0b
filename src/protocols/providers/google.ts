import type { ToolResult } from "../../engine/call/messages.ts";
import type { ToolRegistry } from "../../engine/registry.ts";
import { isRawNumber } from "../../json/raw-parts.ts";
import { isJsonObject, type JsonObject, type JsonValue, MAX_DEPTH } from "../../json/value.ts";
import { toArgumentsObject, toText } from "../content.ts";
import { createProtocol } from "../create-protocol.ts";
import type { CallAssembly, RawCall } from "../parsing/call-assembly.ts";
import {
  expectArray,
  expectObject,
  expectObjects,
  expectString,
  isMadeUp,
  ProtocolError,
  providerFailure,
  readId,
  readReason,
} from "../parsing/shape.ts";
import type { TurnCollector } from "../parsing/turn-collector.ts";
import { agree, contradiction, isBlank } from "../parsing/values.ts";
import type { ProviderProtocol, ProviderShape } from "../protocol.ts";
import type { TurnCall, WrittenPart } from "../turn.ts";

/** The definitions of all tools: an entry of `tools` (Gemini API reference, "generateContent"). */
export interface GoogleTool {
  readonly functionDeclarations: {
    readonly name: string;
    readonly description?: string;
    readonly parametersJsonSchema: JsonObject;
  }[];
}

/** A turn: the model's has calls, the user's has results. */
export interface GoogleContent {
  readonly role: "model" | "user";
  readonly parts: GooglePart[];
}

/** A part of a turn. The name of the response's only member marks errors. */
export type GooglePart =
  | { readonly text: string; readonly thoughtSignature?: string }
  | {
      readonly functionCall: { readonly id?: string; readonly name: string; readonly args: JsonObject };
      /** The model's reasoning, encrypted. The provider rejects a call of its own that lacks it. */
      readonly thoughtSignature?: string;
    }
  | {
      readonly functionResponse: {
        readonly id?: string;
        readonly name: string;
        readonly response: { readonly output: string } | { readonly error: string };
      };
    };

/**
 * Google's `generateContent`. Reads the content of a model's turn, a response (its first candidate), or its chunks, also
 * as one list. Ids that the provider omits are generated, and never sent to it.
 * Results are text only: images are replaced by a placeholder.
 */
export function googleGenerateProtocol(
  registry: ToolRegistry<never>,
): ProviderProtocol<GoogleTool[], GoogleContent> {
  return createProtocol(GOOGLE_SHAPE, registry);
}

const GOOGLE_SHAPE: ProviderShape<GoogleTool[], GoogleContent> = {
  format: "google",
  writeTools: (tools) => [
    {
      functionDeclarations: tools.map(({ name, description, inputSchema }) => ({
        name,
        ...(description !== undefined && { description }),
        parametersJsonSchema: inputSchema,
      })),
    },
  ],
  readMessage(message, turn) {
    if (Array.isArray(message)) {
      for (const chunk of expectObjects(message, "")) readGoogleChunk(chunk, turn);
    } else if (isJsonObject(message) && (message["candidates"] ?? message["promptFeedback"]) !== undefined) {
      if (message["promptFeedback"] === undefined) {
        expectObject(expectArray(message["candidates"], "/candidates")[0], "/candidates/0");
      }
      readGoogleChunk(message, turn);
    } else readGoogleContent(expectObject(message, ""), "", turn);
    return turn.stopReason;
  },
  readEvent: readGoogleChunk,
  writeTurn: ({ parts, calls, lacksData }) => {
    // The first call of a turn has the signature. The next one takes its place without one.
    const [first] = lacksData ? calls : [];
    const isUnsigned = first !== undefined && first.providerData === undefined;
    const write = (part: WrittenPart): GooglePart => {
      if ("text" in part) return { text: part.text };
      if ("opaque" in part) return part.opaque as unknown as GooglePart;
      const written = writeFunctionCall(part.call);
      return isUnsigned && part.call === first ? { ...written, thoughtSignature: UNSIGNED } : written;
    };
    return [{ role: "model", parts: parts.map(write) }];
  },
  writeResults: (results) => [{ role: "user", parts: results.map(writeResponse) }],
};

/** The placeholder for the signature of a call that the model did not sign (Gemini API, "Thought signatures"). */
export const UNSIGNED = "skip_thought_signature_validator";

function writeFunctionCall({ id, name, arguments: args, providerData }: TurnCall): GooglePart {
  const signature = providerData?.["thoughtSignature"];
  return {
    functionCall: { ...idOf(id), name, args: toArgumentsObject(args) },
    ...(typeof signature === "string" && { thoughtSignature: signature }),
  };
}

function writeResponse({ callId, toolName, content, isError }: ToolResult): GooglePart {
  const text = toText(content);
  const response = isError ? { error: text } : { output: text };
  return { functionResponse: { ...idOf(callId), name: toolName, response } };
}

function idOf(id: string): { readonly id?: string } {
  return isMadeUp(id) ? {} : { id };
}

/**
 * Reads a response or a chunk of `streamGenerateContent` (its first candidate). A call arrives complete or, if the
 * request enables it, in parts that say whether the call will continue.
 */
function readGoogleChunk(chunk: JsonObject, turn: TurnCollector): void {
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

/** Parts that the provider runs itself. */
const OTHER_PARTS: readonly string[] = ["executableCode", "toolCall"];

/** The parts of the provider's own tools, which have to be sent back. */
const OWN_PARTS: readonly string[] = [...OTHER_PARTS, "codeExecutionResult", "toolResponse"];

/** Reads the content of a turn. Some servers omit the role. @throws {ProtocolError} if it is not the model's. */
function readGoogleContent({ role, parts }: JsonObject, pointer: string, turn: TurnCollector): void {
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

type Tree = Record<string, JsonValue> | JsonValue[];

/** A step of a path: `.name`, `['name']`, `["name"]` or `[0]`. */
const STEP = /\.([^.[\]]+)|\[(\d+)\]|\['([^']*)'\]|\["([^"]*)"\]/y;

const VALUES: readonly string[] = ["stringValue", "numberValue", "boolValue", "nullValue"];

/**
 * Sets a piece of streamed arguments (Gemini API reference, "PartialArg") at its path. Pieces of a string are appended.
 *
 * @throws {ProtocolError} if the path is invalid, leads through a scalar or skips items of a list.
 */
function applyPartialArgument(args: Record<string, JsonValue>, piece: JsonObject, pointer: string): void {
  const refuse = (): never => {
    throw new ProtocolError(`${pointer}/jsonPath`, "is not a valid path");
  };
  const steps = readPath(expectString(piece["jsonPath"], `${pointer}/jsonPath`)) ?? refuse();
  let node: Tree = args;
  for (const [at, step] of steps.entries()) {
    if (!fits(node, step)) refuse();
    const child = Object.hasOwn(node, step) ? (node as Record<string, JsonValue>)[step] : undefined;
    if (at === steps.length - 1) {
      put(node, step, join(child, piece, pointer));
      return;
    }
    const next: unknown = child ?? (typeof steps[at + 1] === "number" ? [] : {});
    if (typeof next !== "object" || next === null || isRawNumber(next)) refuse();
    if (child === undefined) put(node, step, next as JsonValue);
    node = next as Tree;
  }
}

function readPath(path: string): readonly (string | number)[] | undefined {
  const steps: (string | number)[] = [];
  STEP.lastIndex = 1;
  while (STEP.lastIndex < path.length) {
    const step = STEP.exec(path);
    if (step === null || steps.length === MAX_DEPTH) return undefined;
    const [, name, index, single, double] = step;
    steps.push(index === undefined ? (name ?? single ?? double ?? "") : Number(index));
  }
  return path.startsWith("$") && steps.length > 0 ? steps : undefined;
}

/** A list grows by one item at a time, so that no index can make it large. */
function fits(node: Tree, step: string | number): boolean {
  if (typeof step === "number") return Array.isArray(node) && step <= node.length;
  return isJsonObject(node);
}

/** Sets an own member of any name, even `__proto__`, which the engine refuses later. */
function put(node: Tree, step: string | number, value: JsonValue): void {
  Object.defineProperty(node, step, { value, writable: true, enumerable: true, configurable: true });
}

/** Adds a piece to a value. Pieces of a string are appended; any other value arrives once. */
function join(before: JsonValue | undefined, piece: JsonObject, pointer: string): JsonValue {
  const values = VALUES.flatMap((name) => (Object.hasOwn(piece, name) ? [name] : []));
  const [name, other] = values;
  if (other !== undefined) throw contradiction(`${pointer}/${other}`);
  const value = name === undefined || name === "nullValue" ? null : (piece[name] ?? null);
  if (typeof value === "string" && typeof before === "string") return before + value;
  // A string may end with a piece that has no value.
  if (before !== undefined && value !== null && before !== value) throw contradiction(pointer);
  return before ?? value;
}
