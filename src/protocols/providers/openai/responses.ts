import type { ToolRegistry } from "../../../engine/registry.ts";
import type { ContentBlock } from "../../../tool/content.ts";
import { createProtocol } from "../../create-protocol.ts";
import { expectObject, providerFailure } from "../../parsing/shape.ts";
import { shownContent, toArgumentsText, toInputText, toText } from "../../parsing/text.ts";
import type { ProviderProtocol } from "../../protocol.ts";
import type { ProviderShape } from "../../provider-shape.ts";
import type { OfferedTool } from "../../strict/offer-tools.ts";
import { OPENAI_STRICT } from "../../strict/subsets.ts";
import type { TurnCall } from "../../turn.ts";
import { readItems, readResponsesEvent, reasonOf } from "./responses-items.ts";

/** The definition of a tool (OpenAI API reference, "Create a model response"). */
export type OpenAiResponsesTool = OpenAiResponsesFunctionTool | OpenAiResponsesCustomTool;

/** A free-form tool. */
export interface OpenAiResponsesCustomTool {
  readonly type: "custom";
  readonly name: string;
  readonly description?: string;
}

/** A tool that takes JSON. */
export interface OpenAiResponsesFunctionTool {
  readonly type: "function";
  readonly name: string;
  readonly description?: string;
  readonly parameters: Record<string, unknown>;
  /** Always set, as the provider's default is `true`. */
  readonly strict: boolean;
}

/** An item of the next `input`: the assistant's text and calls, and the results. */
export type OpenAiResponsesItem =
  | OpenAiReasoning
  | { readonly role: "assistant"; readonly content: string }
  | {
      readonly type: "function_call";
      readonly call_id: string;
      readonly name: string;
      readonly arguments: string;
    }
  | {
      readonly type: "custom_tool_call";
      readonly call_id: string;
      readonly name: string;
      readonly input: string;
    }
  | {
      readonly type: "function_call_output" | "custom_tool_call_output";
      readonly call_id: string;
      readonly output: string | OpenAiResponsesContent[];
    };

/** The model's encrypted reasoning, which is sent back unchanged. */
export interface OpenAiReasoning {
  readonly type: "reasoning";
  readonly id: string;
  readonly summary: { readonly type: "summary_text"; readonly text: string }[];
  readonly encrypted_content: string;
}

/** A content part of a result. The format does not mark errors, so the text has to name them. */
export type OpenAiResponsesContent =
  | { readonly type: "input_text"; readonly text: string }
  | { readonly type: "input_image"; readonly image_url: string; readonly detail: "auto" };

/**
 * OpenAI Responses. Reads a whole response, its list of output items, or its events. Only items of type `function_call`,
 * and of type `custom_tool_call` for a free-form tool, are calls of the registry. The others (`mcp_approval_request`…) are
 * in `other`.
 */
export function openAiResponsesProtocol(
  registry: ToolRegistry<never>,
): ProviderProtocol<OpenAiResponsesTool[], OpenAiResponsesItem> {
  return createProtocol(OPENAI_RESPONSES_SHAPE, registry);
}

const OPENAI_RESPONSES_SHAPE: ProviderShape<OpenAiResponsesTool[], OpenAiResponsesItem> = {
  format: "openai-responses",
  strict: OPENAI_STRICT,
  takesText: true,
  writeTools: (tools) => tools.map(writeTool),
  readMessage(message, turn) {
    if (Array.isArray(message)) {
      readItems(message, "", turn);
      return undefined;
    }
    const response = expectObject(message, "");
    if (response["type"] === "function_call" || response["type"] === "custom_tool_call") {
      readItems([response], "", turn);
      return undefined;
    }
    if (response["status"] === "failed") throw providerFailure("/status");
    readItems(response["output"], "/output", turn);
    return reasonOf(response);
  },
  readEvent: readResponsesEvent,
  writeTurn: ({ parts }) =>
    parts.flatMap((part, index): OpenAiResponsesItem[] => {
      if ("text" in part) return [{ role: "assistant", content: part.text }];
      if ("call" in part) return [writeCall(part.call)];
      // The provider rejects reasoning without the item that it led to.
      const isUseless = part.opaque["type"] === "reasoning" && parts[index + 1] === undefined;
      return isUseless ? [] : [part.opaque as unknown as OpenAiReasoning];
    }),
  writeResults: (results, custom) =>
    results.map(({ callId, content }) => ({
      type: custom.has(callId) ? "custom_tool_call_output" : "function_call_output",
      call_id: callId,
      output: writeContent(content),
    })),
};

function writeTool({ name, description, inputSchema, freeform, strict }: OfferedTool): OpenAiResponsesTool {
  const named = { name, ...(description !== undefined && { description }) };
  if (freeform) return { type: "custom", ...named };
  return { type: "function", ...named, parameters: { ...inputSchema }, strict };
}

function writeCall({ id, name, arguments: args, custom }: TurnCall): OpenAiResponsesItem {
  return custom
    ? { type: "custom_tool_call", call_id: id, name, input: toInputText(args) }
    : { type: "function_call", call_id: id, name, arguments: toArgumentsText(args) };
}

/** Writes text without images as a string, which older models accept, too. */
function writeContent(content: readonly ContentBlock[]): string | OpenAiResponsesContent[] {
  const shown = shownContent(content);
  if (shown.every((block) => block.type === "text")) return toText(content);
  return shown.map((block) => {
    if (block.type === "text") return { type: "input_text", text: block.text };
    return {
      type: "input_image",
      image_url: `data:${block.mimeType};base64,${block.data}`,
      detail: "auto",
    };
  });
}
