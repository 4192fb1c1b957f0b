import type { ContentBlock, ImageBlock } from "../engine/content.ts";

/** What stands for an image where a format cannot carry it, so that the model knows of it. */
export function describeImage({ mimeType, data }: ImageBlock): string {
  return `[an image of type ${mimeType.slice(0, 64)}, ${data.length} characters of base64, is not shown here]`;
}

/** Content as one text, its blocks one below the other. */
export function toText(content: readonly ContentBlock[]): string {
  return content.map((block) => (block.type === "text" ? block.text : describeImage(block))).join("\n");
}
