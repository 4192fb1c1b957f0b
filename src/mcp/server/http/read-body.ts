import type { JsonObject } from "../../../json/value.ts";
import {
  MAX_MESSAGE_BYTES,
  type RefusedMessages,
  readClientMessage,
  refusalText,
} from "../client-message.ts";
import type { Sdk } from "../load-sdk.ts";

/**
 * Reads the message in the body of a request, which may be hostile.
 *
 * @returns the message, or the response that refuses it.
 */
export async function readBody(
  request: Request,
  sdk: Sdk,
): Promise<{ readonly message: JsonObject } | Response> {
  const type = request.headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase();
  if (type !== "application/json") return refused(415, "The content-type must be application/json");
  const text = await readText(request);
  if (text === undefined) return refused(413, `The body has more than ${MAX_MESSAGE_BYTES} bytes`);
  const read = readClientMessage(text, sdk);
  return "message" in read ? read : refusalResponse(read);
}

function refused(status: number, message: string): Response {
  return new Response(refusalText({ code: -32_600, message, id: "null" }), { status, headers: JSON_BODY });
}

const JSON_BODY = { "content-type": "application/json" };

/** A message that is not a request gets an error without an id. */
function refusalResponse({ refusals, isBatch }: RefusedMessages): Response {
  const texts = refusals.map(refusalText);
  const [first = refusalText({ code: -32_600, message: "The message is not valid", id: "null" })] = texts;
  const body = isBatch && texts.length > 0 ? `[${texts.join(",")}]` : first;
  return new Response(body, { status: 400, headers: JSON_BODY });
}

async function readText({ body }: Request): Promise<string | undefined> {
  if (body === null) return "";
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > MAX_MESSAGE_BYTES) return undefined;
    chunks.push(chunk);
  }
  // A byte that is no UTF-8 becomes U+FFFD, and stays within its string. A byte order mark is skipped.
  return new TextDecoder().decode(Buffer.concat(chunks));
}
