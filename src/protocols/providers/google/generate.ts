import type { ToolCall } from "../../../engine/call/call.ts";
import type { ToolResult } from "../../../engine/call/messages.ts";
import type { ToolRegistry } from "../../../engine/registry.ts";
import { isJsonObject, type JsonObject } from "../../../json/value.ts";
import { createProtocol } from "../../create-protocol.ts";
import { ProtocolError } from "../../parsing/protocol-error.ts";
import { expectArray, expectObject, expectObjects, expectString } from "../../parsing/shape.ts";
import { toArgumentsObject, toText } from "../../parsing/text.ts";
import type { AssistantTurn, ProviderProtocol } from "../../protocol.ts";
import type { ProviderShape } from "../../provider-shape.ts";
import { readGoogleChunk } from "./stream.ts";

/** The definitions of all tools: an entry of `tools` (Gemini API reference, "generateContent"). */
export interface GoogleTool {
  readonly functionDeclarations: {
    readonly name: string;
    readonly description: string;
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
  | { readonly text: string }
  | { readonly functionCall: { readonly id?: string; readonly name: string; readonly args: JsonObject } }
  | {
      readonly functionResponse: {
        readonly id?: string;
        readonly name: string;
        readonly response: { readonly output: string } | { readonly error: string };
      };
    };

/** The prefix of generated ids, as this provider may omit ids. They are never sent to the provider. */
const MADE_UP = "sandgate-";

/**
 * Google's `generateContent`. Reads the content of a model's turn, a response (its first candidate), or its chunks.
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
        ...{ name, description, parametersJsonSchema: inputSchema },
      })),
    },
  ],
  readMessage(message) {
    if (isJsonObject(message) && message["candidates"] !== undefined) {
      const [candidate] = expectArray(message["candidates"], "/candidates");
      return readContent(expectObject(candidate, "/candidates/0")["content"], "/candidates/0/content");
    }
    return readContent(message, "");
  },
  readEvent: (event, calls) => readGoogleChunk(event, calls, readFunctionCall),
  writeTurn: (calls, text) => [
    { role: "model", parts: [...(text === "" ? [] : [{ text }]), ...calls.map(writeFunctionCall)] },
  ],
  writeResults: (results) => [{ role: "user", parts: results.map(writeResponse) }],
};

function readContent(value: unknown, pointer: string): AssistantTurn {
  const { role, parts: list = [] } = expectObject(value, pointer);
  if (role !== "model") throw new ProtocolError(`${pointer}/role`, 'must be "model"');
  const parts = expectObjects(list, `${pointer}/parts`);
  return {
    text: parts.map(({ text, thought }) => (typeof text === "string" && !thought ? text : "")).join(""),
    calls: parts.flatMap(({ functionCall }, index) =>
      functionCall === undefined
        ? []
        : [readFunctionCall(functionCall, `${pointer}/parts/${index}/functionCall`)],
    ),
  };
}

function readFunctionCall(value: unknown, pointer: string): ToolCall {
  const { id = MADE_UP + crypto.randomUUID(), name, args = {} } = expectObject(value, pointer);
  return {
    id: expectString(id, `${pointer}/id`),
    name: expectString(name, `${pointer}/name`),
    arguments: expectObject(args, `${pointer}/args`),
  };
}

function writeFunctionCall({ id, name, arguments: args }: ToolCall): GooglePart {
  return { functionCall: { ...idOf(id), name, args: toArgumentsObject(args) } };
}

function writeResponse({ callId, toolName, content, isError }: ToolResult): GooglePart {
  const text = toText(content);
  const response = isError ? { error: text } : { output: text };
  return { functionResponse: { ...idOf(callId), name: toolName, response } };
}

function idOf(id: string): { readonly id?: string } {
  return id.startsWith(MADE_UP) ? {} : { id };
}
