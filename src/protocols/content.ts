import { toWellFormedJson } from "../json/canonical.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/value.ts";
import type { ContentBlock, ImageBlock } from "../tool/content.ts";
import { findExcessiveDepth } from "./parsing/limits.ts";

/** The text of a result without text. */
const NO_OUTPUT = "(no output)";

/** A block of a result's content that providers accept. The type of an image is that of its bytes. */
export type ShownBlock =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly mimeType: ImageType; readonly data: string };

/**
 * Returns the blocks that a provider accepts: unsupported images are described, blank texts left out.
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

/** The image types that providers accept. With any other type, they reject the conversation. */
type ImageType = "image/jpeg" | "image/png" | "image/gif" | "image/webp";

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/**
 * The largest side of an image, in pixels (`image dimensions exceed max allowed size: 8000 pixels`, anthropics/claude-code#4778), and the
 * longest text that it is sent as: `image.source.base64: image exceeds 5 MB maximum: 6275800 bytes > 5242880 bytes` counts
 * characters of base64 (lobehub/lobehub#14711), which is the 3.75 MB of Amazon Bedrock (API reference, "Message").
 */
const MAX_SIDE = 8_000;

const MAX_BASE64_LENGTH = 5 * 1_024 * 1_024;

/**
 * Returns the type of an image by its bytes, whatever is declared. Returns `undefined` if providers do not accept it:
 * another type, a truncated file, a too large image, or no image at all.
 *
 * @param maxSide The largest side, in pixels.
 */
export function imageTypeOf(data: string, maxSide: number): ImageType | undefined {
  if (data.length % 4 !== 0 || data.length > MAX_BASE64_LENGTH || !BASE64.test(data)) return undefined;
  const bytes = Buffer.from(data, "base64");
  for (const [type, sizeOf] of Object.entries(READERS)) {
    const size = sizeOf(bytes);
    if (size !== undefined)
      return size.every((side) => side > 0 && side <= maxSide) ? (type as ImageType) : undefined;
  }
  return undefined;
}

/** Returns width and height; `undefined` if the bytes are not of this type, or have no end. */
type SizeReader = (bytes: Buffer) => readonly [number, number] | undefined;

const READERS: Readonly<Record<ImageType, SizeReader>> = {
  "image/png": (bytes) => {
    const isPng = startsWith(bytes, "\x89PNG\r\n\x1a\n\0\0\0\rIHDR") && bytes.length >= 45;
    if (!isPng || bytes.lastIndexOf("IEND") === -1) return undefined;
    return [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
  },
  "image/gif": (bytes) => {
    const isGif = (startsWith(bytes, "GIF87a") || startsWith(bytes, "GIF89a")) && bytes.length >= 14;
    if (!isGif || bytes.lastIndexOf(0x3b) < 13) return undefined;
    return [bytes.readUInt16LE(6), bytes.readUInt16LE(8)];
  },
  "image/webp": (bytes) => {
    if (bytes.length < 30 || !startsWith(bytes, "RIFF") || bytes.toString("latin1", 8, 12) !== "WEBP")
      return undefined;
    if (bytes.readUInt32LE(4) + 8 > bytes.length) return undefined;
    const kind = bytes.toString("latin1", 12, 16);
    if (kind === "VP8 ") return [bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff];
    if (kind === "VP8X") return [bytes.readUIntLE(24, 3) + 1, bytes.readUIntLE(27, 3) + 1];
    if (kind !== "VP8L") return undefined;
    const bits = bytes.readUInt32LE(21);
    return [(bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1];
  },
  "image/jpeg": (bytes) => {
    if (!startsWith(bytes, "\xff\xd8\xff") || bytes.lastIndexOf(Buffer.of(0xff, 0xd9)) === -1)
      return undefined;
    return frameSize(bytes);
  },
};

/** Finds the frame header of a JPEG (ITU-T T.81, annex B). */
function frameSize(bytes: Buffer): readonly [number, number] | undefined {
  for (let at = 2; at + 9 < bytes.length; ) {
    if (bytes[at] !== 0xff) return undefined;
    const marker = bytes[at + 1] as number;
    if (marker === 0xff) {
      at++;
      continue;
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return [bytes.readUInt16BE(at + 7), bytes.readUInt16BE(at + 5)];
    at += 2 + bytes.readUInt16BE(at + 2);
  }
  return undefined;
}

function startsWith(bytes: Buffer, text: string): boolean {
  return bytes.toString("latin1", 0, text.length) === text;
}
