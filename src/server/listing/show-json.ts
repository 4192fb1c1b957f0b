import { isJsonObject, type JsonValue } from "../../json/value.ts";
import type { Redaction } from "../../redaction/redaction.ts";
import { toPrintableJson } from "../../rendering/printable-json.ts";
import { render, textOf } from "../../rendering/render.ts";
import { toLine } from "../../rendering/shown.ts";

const MAX_TEXT_CHARS = 4_000;
const MAX_NAME_CHARS = 256;
/** The most items of a list, and members of an object. */
const MAX_ITEMS = 1_000;
const MAX_DEPTH = 16;

/** Returns a value whose texts and names are without secrets, rendered and cut. What is too deep or too many is left out. */
export function showJson(value: JsonValue, redaction: Redaction, depth = 0): JsonValue {
  if (typeof value === "string") return toLine(redaction.text(value), MAX_TEXT_CHARS);
  if (typeof value !== "object" || value === null) return value;
  if (depth === MAX_DEPTH) return "[left out]";
  if (!isJsonObject(value)) {
    return value.slice(0, MAX_ITEMS).map((item) => showJson(item, redaction, depth + 1));
  }
  const members = Object.entries(value).slice(0, MAX_ITEMS);
  return Object.fromEntries(
    members.map(([name, member = null]) => [
      toLine(redaction.text(name), MAX_NAME_CHARS),
      showJson(member, redaction, depth + 1),
    ]),
  );
}

/** Returns a value as printable JSON text without secrets. Of a long one, the beginning and the end are left. */
export function jsonText(value: JsonValue, redaction: Redaction, chars: number): string {
  let text: string;
  try {
    text = toPrintableJson(redaction.json(value)).text;
  } catch (error) {
    // The stack overflows on forged values that are deeper than those of any call.
    if (error instanceof RangeError) return "[left out]";
    throw error;
  }
  return text.length <= chars ? text : textOf(render(text, { chars, syntax: "json", keepsLines: true }));
}
