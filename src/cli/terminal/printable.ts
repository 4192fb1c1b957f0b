import { UNPRINTABLE } from "../../base/unprintable.ts";

const SHORT_ESCAPES: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** Turns an untrusted text into one line that is safe to print on a terminal: unprintable characters are escaped. */
export function toPrintable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => SHORT_ESCAPES[character] ?? escapeUnits(character));
}

/** Serialises a value as indented JSON in which unprintable characters are escaped. */
export function toPrintableJson(value: unknown): string {
  const text = JSON.stringify(value, null, 2);
  // Outside of strings, the only such character is the line feed between lines.
  return text.replace(UNPRINTABLE, (character) => (character === "\n" ? "\n" : escapeUnits(character)));
}

/** Escapes the UTF-16 code units of a character like JSON. */
function escapeUnits(character: string): string {
  return Array.from(
    { length: character.length },
    (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`,
  ).join("");
}
