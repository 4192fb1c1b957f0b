import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import { toWellFormedJson } from "../../json/well-formed.ts";
import type { ContentBlock, ImageBlock } from "../../tool/content.ts";
import { type ImageType, imageTypeOf, MAX_SIDE } from "./image-type.ts";
import { findExcessiveDepth } from "./limits.ts";

/** What the model reads of a result without a text. */
const NO_OUTPUT = "(no output)";

/** A result's content as a provider can show it. The type of an image is that of its bytes. */
export type ShownBlock =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly mimeType: ImageType; readonly data: string };

/**
 * Returns the content that a provider which accepts images can show: others are described, blank texts left out.
 *
 * @param withImages Whether it accepts images here. Default: `true`.
 */
export function shownContent(content: readonly ContentBlock[], withImages = true): readonly ShownBlock[] {
  return content.flatMap((block): ShownBlock[] => {
    if (block.type === "text") return block.text.trim() === "" ? [] : [block];
    const mimeType = withImages ? imageTypeOf(block.data, MAX_SIDE) : undefined;
    if (mimeType === undefined) return [{ type: "text", text: describeImage(block) }];
    return [{ type: "image", mimeType, data: block.data }];
  });
}

/** Returns the text of a result for a provider that rejects a blank one. */
export function toVisibleText(content: readonly ContentBlock[]): string {
  const text = toText(content);
  return text.trim() === "" ? NO_OUTPUT : text;
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
