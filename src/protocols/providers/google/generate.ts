import type { ToolResult } from "../../../engine/call/messages.ts";
import type { ToolRegistry } from "../../../engine/registry.ts";
import { isJsonObject, type JsonObject } from "../../../json/value.ts";
import { createProtocol } from "../../create-protocol.ts";
import { expectArray, expectObject, expectObjects, isMadeUp } from "../../parsing/shape.ts";
import { toArgumentsObject, toText } from "../../parsing/text.ts";
import type { ProviderProtocol } from "../../protocol.ts";
import type { ProviderShape } from "../../provider-shape.ts";
import type { TurnCall } from "../../turn.ts";
import type { WrittenPart } from "../../written-turn.ts";
import { readGoogleChunk, readGoogleContent } from "./stream.ts";

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

/** Stands for the signature of a call that the model did not sign (Gemini API, "Thought signatures"). */
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
