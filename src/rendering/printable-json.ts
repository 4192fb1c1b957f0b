import { escapeText } from "./escaping/escape.ts";
import { textOf } from "./render.ts";
import { ShownText } from "./shown-text.ts";

/**
 * Serialises a value as indented JSON, whole, in which everything that is not what it looks like is escaped. Programs read
 * it back as the same value.
 */
export function toPrintableJson(value: unknown): ShownText {
  const segments = escapeText(JSON.stringify(value, null, 2), DATA);
  return new ShownText(textOf({ segments }), { isData: true });
}

/** Notes would not be JSON. */
const DATA = { syntax: "json", keepsLines: true, maxSpaces: Number.POSITIVE_INFINITY } as const;
