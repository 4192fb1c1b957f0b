import { MAX_DEPTH } from "../json/value.ts";

/** Arguments at their deepest, and the message around them. Deeper ones could not be written back. */
export const MAX_MESSAGE_DEPTH: number = 2 * MAX_DEPTH;

/** Where a valid JSON text becomes deeper than {@link MAX_MESSAGE_DEPTH}; `undefined` when it does not. */
export function findExcessiveDepth(text: string): number | undefined {
  // Half of such a text opens lists and objects, and the other half closes them.
  if (text.length <= 2 * MAX_MESSAGE_DEPTH) return undefined;
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === '"') inString = !inString;
    else if (inString) at += character === "\\" ? 1 : 0;
    else if (character === "{" || character === "[") {
      if (++depth > MAX_MESSAGE_DEPTH) return at;
    } else if (character === "}" || character === "]") depth--;
  }
  return undefined;
}
