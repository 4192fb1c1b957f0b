import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import { toWellFormedJson } from "../../json/well-formed.ts";
import type { ContentBlock, ImageBlock } from "../../tool/content.ts";
import { findExcessiveDepth } from "./limits.ts";

/** The image types that providers accept. With any other type, they reject the conversation. */
const MEDIA_TYPES: ReadonlySet<string> = new Set(["image/jpeg", "image/png", "image/gif", "image/webp"]);
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** Returns whether providers that accept images accept this one. */
export function isShowable({ mimeType, data }: ImageBlock): boolean {
  return MEDIA_TYPES.has(mimeType) && data.length % 4 === 0 && BASE64.test(data);
}

/** Returns a placeholder for an image that a format cannot carry. */
export function describeImage({ mimeType, data }: ImageBlock): string {
  return `[image omitted: ${mimeType.slice(0, 64)}, ${data.length} characters of base64]`;
}

/** Joins the blocks of content into one text, separated by line feeds. */
export function toText(content: readonly ContentBlock[]): string {
  return content.map((block) => (block.type === "text" ? block.text : describeImage(block))).join("\n");
}

/** Returns arguments as JSON text. */
export function toArgumentsText(args: JsonValue): string {
  return toWellFormedJson(typeof args === "string" ? args : JSON.stringify(args));
}

/** Returns the text of a custom tool's call. Anything else, which can come from another format, becomes JSON. */
export function toInputText(args: JsonValue): string {
  return typeof args === "string" ? args : JSON.stringify(args);
}

/** Returns arguments as an object. Anything else, which can come from another format, is wrapped. */
export function toArgumentsObject(args: JsonValue): JsonObject {
  if (isJsonObject(args)) return args;
  if (typeof args === "string" && findExcessiveDepth(args) === undefined) {
    try {
      const parsed: unknown = JSON.parse(args);
      if (isJsonObject(parsed)) return parsed;
    } catch {
      // Invalid arguments are sent back, too. Their result reports the error.
    }
  }
  return { arguments: args };
}
