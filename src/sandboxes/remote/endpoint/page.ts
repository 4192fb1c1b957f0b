import { formatBytes } from "../../../base/units.ts";
import type { EgressResponse } from "../../../egress/request.ts";
import type { JsonObject } from "../../../json/value.ts";

/** Media types that are text, besides `text/*`. */
const TEXT_TYPE =
  /^(?:text\/.*|application\/(?:.*\+)?(?:json|xml|yaml|javascript|ecmascript|x-yaml|x-ndjson|toml|sql))$/;
const MAX_TYPE_CHARS = 100;

/** Returns a response as an output; or, if it is not text, a message that says so. */
export function readPage({ status, headers, body, url }: EgressResponse): JsonObject | string {
  const contentType = String(headers["content-type"] ?? "");
  const [type = ""] = contentType.toLowerCase().split(";", 1);
  const page = { url: url.href, status, contentType };
  if (body.length === 0) return { ...page, text: "" };
  const shown = type.trim().slice(0, MAX_TYPE_CHARS) || "of an unknown type";
  if (!TEXT_TYPE.test(type.trim())) return `The response is ${shown}, not text: ${formatBytes(body.length)}`;
  const decoder = decoderOf(contentType);
  if (decoder === undefined)
    return `The response is text in an unknown encoding: ${formatBytes(body.length)}`;
  return { ...page, text: decoder.decode(body) };
}

/** Bytes that are invalid in the encoding become U+FFFD. */
function decoderOf(contentType: string): TextDecoder | undefined {
  const [, charset = "utf-8"] = /;\s*charset="?([\w.:-]{1,40})/i.exec(contentType) ?? [];
  try {
    return new TextDecoder(charset);
  } catch {
    return undefined;
  }
}
