import { isJsonObject, type JsonObject, type JsonValue } from "../../../json/value.ts";
import type { ContentBlock } from "../../../tool/content.ts";

/**
 * Makes blocks that a model can be shown of the content of a result (MCP, "ContentBlock"). What has no such form, such as audio,
 * is named in a line of text. A result with structured content alone becomes its JSON text.
 */
export function blocksOf({ content, structuredContent }: JsonObject): readonly ContentBlock[] {
  const blocks = Array.isArray(content) ? content.filter(isJsonObject).map(blockOf) : [];
  if (blocks.length > 0 || structuredContent === undefined) return blocks;
  return [{ type: "text", text: JSON.stringify(structuredContent) }];
}

function blockOf(block: JsonObject): ContentBlock {
  const { type, text, data, mimeType, resource, uri, name } = block;
  if (type === "text" && typeof text === "string") return { type, text };
  if (type === "image" && typeof data === "string" && typeof mimeType === "string") {
    return { type, data, mimeType };
  }
  if (type === "resource" && isJsonObject(resource)) return resourceBlock(resource);
  if (type === "resource_link") return note(`resource ${words(uri)}, ${words(name)}`);
  if (type === "audio" && typeof data === "string")
    return note(`audio, ${words(mimeType)}, ${bytesOf(data)} bytes`);
  return note(`content of the type ${words(type)}, which cannot be shown`);
}

function resourceBlock({ uri, mimeType, text, blob }: JsonObject): ContentBlock {
  if (typeof text === "string") return { type: "text", text };
  if (typeof blob !== "string") return note(`resource ${words(uri)}`);
  if (typeof mimeType === "string" && mimeType.startsWith("image/"))
    return { type: "image", data: blob, mimeType };
  return note(`resource ${words(uri)}, ${words(mimeType)}, ${bytesOf(blob)} bytes`);
}

function note(text: string): ContentBlock {
  return { type: "text", text: `[${text}]` };
}

function words(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "without a name";
}

function bytesOf(base64: string): number {
  return Math.floor((base64.replace(/=+$/, "").length * 3) / 4);
}
