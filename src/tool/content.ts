import { suggest } from "../base/unknown-names.ts";
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

/** What models and other libraries call a member of a content output or of a block. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  mediatype: "mimeType",
  media_type: "mimeType",
  mime_type: "mimeType",
  mimetype: "mimeType",
  contenttype: "mimeType",
  mime: "mimeType",
  base64: "data",
  blob: "data",
  source: "data",
  value: "text",
  iserror: "success",
  meta: "metadata",
  _meta: "metadata",
  structuredcontent: "metadata",
};

/** The types of blocks here, in MCP and with model providers. */
const BLOCK_TYPES = new Set([
  "text",
  "image",
  "audio",
  "resource",
  "resource_link",
  "image_url",
  "input_text",
  "input_image",
  "input_audio",
  "output_text",
]);

/**
 * Returns what is wrong with an output that is meant as a {@link ContentOutput} and is none, as `/path message`; `undefined` if it
 * is one, or is plain JSON. It is meant as one if its `content` has a block, as here or of MCP, and it has no other members than
 * those of a content output, however they are written. One with a whole image is meant as one whatever else it has, as nobody wants
 * a model to read base64.
 */
export function contentProblem(output: JsonValue): string | undefined {
  if (isImageBlock(output) || hasImage(output))
    return "/ has an image outside of a content output: write { content: [...] }";
  if (!isJsonObject(output) || isContentOutput(output)) return undefined;
  const { success, metadata } = output;
  // Most outputs are plain, and cost no more than this.
  if (output["content"] === undefined && metadata === undefined && !hasImages(output)) return undefined;
  const others = Object.keys(output).filter((member) => !MEMBERS.has(member));
  const content = output["content"] ?? misspeltContent(output, others);
  const blocks = Array.isArray(content) ? content : [content];
  if (!blocks.some(isMeantAsBlock)) return undefined;
  const unknown = others.find((member) => !MEMBERS.has(knownName(member)));
  if (unknown !== undefined)
    return blocks.some(isImageBlock) ? "has other members than content, success and metadata" : undefined;
  const [other] = others;
  if (other !== undefined)
    return `/${other} is not a member of a content output: write '${knownName(other)}'`;
  if (!Array.isArray(content)) return "/content must be a list of blocks";
  if (success !== undefined && typeof success !== "boolean") return "/success must be true or false";
  if (metadata !== undefined && !isJsonObject(metadata)) return "/metadata must be an object";
  const index = content.findIndex((block) => !isContentBlock(block));
  return `/content/${index} ${blockProblem(content[index] as JsonValue)}`;
}

function isImageBlock(value: JsonValue | undefined): boolean {
  if (typeof value !== "object" || value === null) return false;
  return "type" in value && value["type"] === "image" && isContentBlock(value);
}

/** Whether a value is a list with an image. Each call asks for each member of its output: `some` takes ten times as long. */
function hasImage(value: JsonValue | undefined): boolean {
  if (!Array.isArray(value)) return false;
  for (let index = 0; index < value.length; index++) if (isImageBlock(value[index])) return true;
  return false;
}

function hasImages(output: JsonObject): boolean {
  for (const name in output) {
    const member = output[name];
    if (typeof member === "object" && hasImage(member)) return true;
  }
  return false;
}

/** The content of an output that has it under another name, and an image or metadata besides. */
function misspeltContent(output: JsonObject, others: readonly string[]): JsonValue | undefined {
  const content =
    output[others.slice(0, MEMBERS.size).find((member) => knownName(member) === "content") ?? ""];
  const isMeant = output["metadata"] !== undefined || hasImage(content);
  return isMeant ? content : undefined;
}

/** Whether a value is a block by its type, or has the data of one. */
function isMeantAsBlock(value: JsonValue | undefined): boolean {
  if (value === undefined || !isJsonObject(value)) return false;
  const { type, data, mimeType } = value;
  if (typeof type === "string" && BLOCK_TYPES.has(type.toLowerCase())) return true;
  return typeof data === "string" && typeof mimeType === "string";
}

function blockProblem(block: JsonValue): string {
  if (!isJsonObject(block)) return "must be a block with a type";
  const { type } = block;
  if (type !== "text" && type !== "image") return "must have 'text' or 'image' as its 'type'";
  const needed = type === "text" ? ["text"] : ["data", "mimeType"];
  const missing = needed.find((member) => typeof block[member] !== "string") ?? "";
  if (block[missing] !== undefined) return `must have a string as '${missing}'`;
  const other = Object.keys(block).find((member) => member !== missing && knownName(member) === missing);
  return `has no '${missing}'${other === undefined ? "" : `: write it in place of '${other}'`}`;
}

function knownName(member: string): string {
  return OTHER_NAMES[member.toLowerCase()] ?? suggest(member, [...MEMBERS]) ?? member;
}

/** The text of all text blocks, joined by line breaks. */
export function contentText(content: readonly ContentBlock[]): string {
  return content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
}

/**
 * Returns what a tool returns to report success with metadata. Without metadata, a tool can return its output as it is.
 *
 * @param output What the model reads: a text, or any other JSON value as JSON text.
 * @param metadata Becomes `ToolExecution.metadata`. The model never sees it. Default: none.
 */
export function success(output: JsonValue, metadata?: JsonObject): ContentOutput {
  return reported(typeof output === "string" ? output : JSON.stringify(output), true, metadata);
}

/**
 * Returns what a tool returns to report a failure without throwing: the call fails with `execution_error`.
 *
 * @param message What the model reads.
 * @param metadata As in {@link success}.
 */
export function failure(message: string, metadata?: JsonObject): ContentOutput {
  return reported(message, false, metadata);
}

function reported(text: string, isSuccess: boolean, metadata: JsonObject | undefined): ContentOutput {
  const content = [{ type: "text", text } as const];
  return { content, success: isSuccess, ...(metadata !== undefined && { metadata }) };
}
