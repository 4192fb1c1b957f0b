import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import type { ContentBlock, ImageBlock } from "../../tool/content.ts";

/** The types of images that providers take: any other makes them refuse the conversation. */
const MEDIA_TYPES: ReadonlySet<string> = new Set(["image/jpeg", "image/png", "image/gif", "image/webp"]);
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** Whether providers that take images take this one. */
export function isShowable({ mimeType, data }: ImageBlock): boolean {
  return MEDIA_TYPES.has(mimeType) && data.length % 4 === 0 && BASE64.test(data);
}

/** What stands for an image where a format cannot carry it, so that the model knows of it. */
export function describeImage({ mimeType, data }: ImageBlock): string {
  return `[an image of type ${mimeType.slice(0, 64)}, ${data.length} characters of base64, is not shown here]`;
}

/** Content as one text, its blocks one below the other. */
export function toText(content: readonly ContentBlock[]): string {
  return content.map((block) => (block.type === "text" ? block.text : describeImage(block))).join("\n");
}

/** Arguments for a format that has them as JSON text. */
export function toArgumentsText(args: JsonValue): string {
  return typeof args === "string" ? args : JSON.stringify(args);
}

/** Arguments for a format that takes objects only; what another format's model sent instead is wrapped. */
export function toArgumentsObject(args: JsonValue): JsonObject {
  if (isJsonObject(args)) return args;
  if (typeof args === "string") {
    try {
      const parsed: unknown = JSON.parse(args);
      if (isJsonObject(parsed)) return parsed;
    } catch {
      // Broken arguments are echoed all the same: their result says what is wrong with them.
    }
  }
  return { arguments: args };
}
