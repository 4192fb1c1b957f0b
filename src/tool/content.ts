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
  base64: "data",
  source: "data",
  value: "text",
  iserror: "success",
  meta: "metadata",
};

/**
 * Returns what is wrong with an output that is meant as a {@link ContentOutput} and is none, as `/path message`; `undefined` if it
 * is one, or is plain JSON. It is meant as one if every item of `content` is a block of a text or an image by its `type`, and it has
 * no other members than those of a content output, however they are written.
 */
export function contentProblem(output: JsonValue): string | undefined {
  if (!isJsonObject(output) || isContentOutput(output)) return undefined;
  const { content, success, metadata } = output;
  if (!Array.isArray(content) || content.length === 0 || !content.every(isMeantAsBlock)) return undefined;
  const others = Object.keys(output).filter((member) => !MEMBERS.has(member));
  if (!others.every((member) => MEMBERS.has(knownName(member)))) return undefined;
  const [other] = others;
  if (other !== undefined)
    return `/${other} is not a member of a content output: write '${knownName(other)}'`;
  if (success !== undefined && typeof success !== "boolean") return "/success must be true or false";
  if (metadata !== undefined && !isJsonObject(metadata)) return "/metadata must be an object";
  const index = content.findIndex((block) => !isContentBlock(block));
  return `/content/${index} ${blockProblem(content[index] as JsonObject)}`;
}

function isMeantAsBlock(block: unknown): boolean {
  return isJsonObject(block) && (block["type"] === "text" || block["type"] === "image");
}

function blockProblem(block: JsonObject): string {
  const needed = block["type"] === "text" ? ["text"] : ["data", "mimeType"];
  const missing = needed.find((member) => typeof block[member] !== "string") ?? "";
  if (block[missing] !== undefined) return `must have a string as '${missing}'`;
  const other = Object.keys(block).find((member) => member !== missing && knownName(member) === missing);
  return `has no '${missing}'${other === undefined ? "" : `: write it in place of '${other}'`}`;
}

function knownName(member: string): string {
  const lower = member.toLowerCase();
  return OTHER_NAMES[lower] ?? [...MEMBERS].find((known) => known === lower) ?? member;
}

/** The text of all text blocks, joined by line breaks. */
export function contentText(content: readonly ContentBlock[]): string {
  return content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
}
