import type { AnyValue } from "@opentelemetry/api";
import { beginning } from "../base/text.ts";
import type { JsonValue } from "../json/value.ts";
import type { Redaction } from "../redaction/redaction.ts";
import { HAS_LOGS } from "./instruments.ts";

/** The longest content of an attribute, as JSON text in UTF-16 code units. */
const MAX_CONTENT_LENGTH = 16_384;

/**
 * Returns a value without its secrets for an attribute. Of one that is too long, it is the beginning of its JSON text; with an API
 * without structured attributes, the whole text.
 */
export function contentValue(value: JsonValue, redaction: Redaction): AnyValue {
  const shown = redaction.json(value);
  const text = JSON.stringify(shown);
  if (text.length > MAX_CONTENT_LENGTH) return `${beginning(text, MAX_CONTENT_LENGTH)}…`;
  return HAS_LOGS || typeof shown === "string" ? (shown as AnyValue) : text;
}
