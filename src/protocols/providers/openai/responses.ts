import type { ToolCall } from "../../../engine/call/call.ts";
import type { ToolRegistry } from "../../../engine/registry.ts";
import { isJsonObject, type JsonObject } from "../../../json/value.ts";
import type { ContentBlock } from "../../../tool/content.ts";
import { createProtocol } from "../../create-protocol.ts";
import type { CallCollector } from "../../parsing/call-collector.ts";
import { expectObject, expectObjects, expectString, providerFailure } from "../../parsing/shape.ts";
import { describeImage, isShowable, toArgumentsText, toText } from "../../parsing/text.ts";
import type { AssistantTurn, ProviderProtocol } from "../../protocol.ts";
import type { ProviderShape } from "../../provider-shape.ts";
import { OPENAI_STRICT } from "../../strict/subsets.ts";

/** The definition of a tool (OpenAI API reference, "Create a model response"). */
export interface OpenAiResponsesTool {
  readonly type: "function";
  readonly name: string;
  readonly description: string;
  readonly parameters: Record<string, unknown>;
  /** Always set, as the provider's default is `true`. */
  readonly strict: boolean;
}

/** An item of the next `input`: the assistant's text and calls, and the results. */
export type OpenAiResponsesItem =
  | { readonly role: "assistant"; readonly content: string }
  | {
      readonly type: "function_call";
      readonly call_id: string;
      readonly name: string;
      readonly arguments: string;
    }
  | {
      readonly type: "function_call_output";
      readonly call_id: string;
      readonly output: string | OpenAiResponsesContent[];
    };

/** A content part of a result. The format does not mark errors, so the text has to name them. */
export type OpenAiResponsesContent =
  | { readonly type: "input_text"; readonly text: string }
  | { readonly type: "input_image"; readonly image_url: string; readonly detail: "auto" };

/**
 * OpenAI Responses. Reads a whole response, its list of output items, or its events. Only items of type
 * `function_call` are tool calls. The provider runs the others itself, or they were not offered here.
 */
export function openAiResponsesProtocol(
  registry: ToolRegistry<never>,
): ProviderProtocol<OpenAiResponsesTool[], OpenAiResponsesItem> {
  return createProtocol(OPENAI_RESPONSES_SHAPE, registry);
}

const OPENAI_RESPONSES_SHAPE: ProviderShape<OpenAiResponsesTool[], OpenAiResponsesItem> = {
  format: "openai-responses",
  strict: OPENAI_STRICT,
  writeTools: (tools) =>
    tools.map(({ name, description, inputSchema, strict }) => ({
      type: "function",
      ...{ name, description, parameters: { ...inputSchema }, strict },
    })),
  readMessage(message) {
    if (Array.isArray(message)) return readItems(message, "");
    const response = expectObject(message, "");
    if (response["type"] === "function_call") return readItems([response], "");
    return readItems(response["output"], "/output");
  },
  readEvent: readResponsesEvent,
  writeTurn: (calls, text) => [
    ...(text === "" ? [] : [{ role: "assistant" as const, content: text }]),
    ...calls.map(({ id, name, arguments: args }) => ({
      type: "function_call" as const,
      call_id: id,
      name,
      arguments: toArgumentsText(args),
    })),
  ],
  writeResults: (results) =>
    results.map(({ callId, content }) => ({
      type: "function_call_output",
      call_id: callId,
      output: writeContent(content),
    })),
};

function readItems(value: unknown, pointer: string): AssistantTurn {
  const items = expectObjects(value, pointer);
  return {
    text: items.map(readText).join(""),
    calls: items.flatMap((item, index) =>
      item["type"] === "function_call" ? [readCall(item, `${pointer}/${index}`)] : [],
    ),
  };
}

function readCall({ call_id: id, name, arguments: args }: JsonObject, pointer: string): ToolCall {
  return {
    id: expectString(id, `${pointer}/call_id`),
    name: expectString(name, `${pointer}/name`),
    arguments: expectString(args, `${pointer}/arguments`),
  };
}

function readText({ type, role, content }: JsonObject): string {
  if (type !== "message" || role !== "assistant" || !Array.isArray(content)) return "";
  return content
    .map((part: unknown) => (isJsonObject(part) && typeof part["text"] === "string" ? part["text"] : ""))
    .join("");
}

/** Reads an event of a stream (OpenAI API reference, "Streaming events"). */
function readResponsesEvent(event: JsonObject, calls: CallCollector): void {
  switch (event["type"]) {
    case "error":
    case "response.failed":
      throw providerFailure("");
    case "response.output_text.delta":
      calls.addText(event["delta"]);
      break;
    case "response.output_item.added":
    case "response.output_item.done":
      readItemEvent(event, calls);
  }
}

/** Reads an item, which is sent twice: when it starts, and complete when it is done. */
function readItemEvent(event: JsonObject, calls: CallCollector): void {
  const item = expectObject(event["item"], "/item");
  if (item["type"] !== "function_call") return;
  const id = expectString(item["call_id"], "/item/call_id");
  if (event["type"] === "response.output_item.done") {
    calls.drop(id);
    calls.add(readCall(item, "/item"));
  } else {
    calls.open(id, id, expectString(item["name"], "/item/name"), "");
  }
}

/** Writes text without images as a string, which older models accept, too. */
function writeContent(content: readonly ContentBlock[]): string | OpenAiResponsesContent[] {
  if (!content.some((block) => block.type === "image" && isShowable(block))) return toText(content);
  return content.map((block) => {
    if (block.type === "text") return { type: "input_text", text: block.text };
    if (!isShowable(block)) return { type: "input_text", text: describeImage(block) };
    return {
      type: "input_image",
      image_url: `data:${block.mimeType};base64,${block.data}`,
      detail: "auto",
    };
  });
}
