import { isJsonObject, type JsonObject, type JsonValue } from "../json/value.ts";

/** A piece of text for the model. */
export interface TextBlock {
  readonly type: "text";
  readonly text: string;
}

/** An image for the model. */
export interface ImageBlock {
  readonly type: "image";
  /** The image, in base64 (RFC 4648, section 4). */
  readonly data: string;
  /** The media type, such as `image/png`. */
  readonly mimeType: string;
}

/** A piece of output that providers can show to a model. */
export type ContentBlock = TextBlock | ImageBlock;

/** What a tool can return instead of a plain JSON value. */
export interface ContentOutput {
  readonly content: readonly ContentBlock[];
  /** Whether the call succeeded. If not, the text of the content is the text of the failure. Default: `true`. */
  readonly success?: boolean;
  /** Becomes `ToolExecution.metadata`. The model never sees it. */
  readonly metadata?: JsonObject;
}

const MEMBERS = new Set(["content", "success", "metadata"]);

/** Whether an output is a {@link ContentOutput}. An object with any other member is a plain JSON value. */
export function isContentOutput(output: JsonValue): output is ContentOutput & JsonObject {
  if (!isJsonObject(output) || !Array.isArray(output["content"])) return false;
  const { content, success, metadata } = output;
  return (
    Object.keys(output).every((member) => MEMBERS.has(member)) &&
    (success === undefined || typeof success === "boolean") &&
    (metadata === undefined || isJsonObject(metadata)) &&
    content.every(isContentBlock)
  );
}

function isContentBlock(block: unknown): block is ContentBlock {
  if (!isJsonObject(block)) return false;
  if (block["type"] === "text") return typeof block["text"] === "string";
  return (
    block["type"] === "image" && typeof block["data"] === "string" && typeof block["mimeType"] === "string"
  );
}

/** The text of all text blocks, joined by line breaks. */
export function contentText(content: readonly ContentBlock[]): string {
  return content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
}
