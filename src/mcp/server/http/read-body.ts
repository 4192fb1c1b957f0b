import type { JsonBounds } from "../../../json/bounds.ts";
import { parseJson } from "../../../json/parse.ts";
import { isJsonObject, type JsonValue } from "../../../json/value.ts";
import { errorResponse } from "./legacy-sessions.ts";

/** The most bytes of a body. */
const MAX_BYTES = 4 * 1_024 * 1_024;
/** How large a message may be. */
export const MESSAGE_BOUNDS: JsonBounds = Object.freeze({
  length: MAX_BYTES,
  values: 200_000,
  members: 40_000,
});

/**
 * Reads the message in the body of a request, which may be hostile.
 *
 * @returns the message, or the response that refuses it. Batches are refused: MCP has had none since 2025-06-18.
 */
export async function readBody(request: Request): Promise<{ readonly value: JsonValue } | Response> {
  const type = request.headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase();
  if (type !== "application/json") return errorResponse(415, -32_600, "The body must be application/json");
  const text = await readText(request);
  if (text === undefined) return errorResponse(413, -32_600, "The body is too large");
  const parsed = parseJson(text, MESSAGE_BOUNDS);
  if (!("value" in parsed)) {
    return errorResponse(400, -32_700, `The body is not valid JSON: ${parsed.reason}`);
  }
  if (!isJsonObject(parsed.value)) return errorResponse(400, -32_600, "The body must be one message");
  return parsed;
}

async function readText({ body }: Request): Promise<string | undefined> {
  if (body === null) return "";
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) return undefined;
    chunks.push(chunk);
  }
  // A byte that is no UTF-8 becomes U+FFFD, and stays within its string.
  return Buffer.concat(chunks).toString("utf8");
}
