import { beginning } from "../../base/text.ts";
import { UNPRINTABLE } from "../../base/unprintable.ts";

/** An identifier that needs no quotes. */
const IDENTIFIER = /^[A-Za-z_$][A-Za-z0-9_$]*$/;

/**
 * Returns a text of a tool's author as a comment: on one line, cut, and without what could end the comment or a block of
 * code around it. An empty text if there is nothing to say.
 */
export function commentOf(text: string, maxLength: number): string {
  const line = text
    .slice(0, 4 * maxLength)
    .replace(/\s+/g, " ")
    .replace(UNPRINTABLE, "\ufffd")
    .replaceAll("*/", "* /")
    .replaceAll("`", "'")
    .trim();
  if (line === "") return "";
  return `/** ${line.length <= maxLength ? line : `${beginning(line, maxLength - 1)}…`} */ `;
}

/** Returns a name as the key of a type: as it is, or quoted. */
export function keyOf(name: string): string {
  return IDENTIFIER.test(name) ? name : quoted(name);
}

/** Returns a string literal in which every character can be seen. */
export function quoted(text: string): string {
  return JSON.stringify(text).replace(UNPRINTABLE, escapeCharacter).replaceAll("`", "\\u0060");
}

function escapeCharacter(character: string): string {
  let escaped = "";
  for (let i = 0; i < character.length; i++) {
    escaped += `\\u${character.charCodeAt(i).toString(16).padStart(4, "0")}`;
  }
  return escaped;
}
