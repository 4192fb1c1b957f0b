import { toLine } from "../../rendering/shown.ts";
import { ShownText } from "../../rendering/shown-text.ts";

/** The longest address that is printed as a whole. */
const MAX_CHARS = 16_384;

/**
 * Returns an address for a line of its own, which is never wrapped, so that it can be opened and copied. It has neither spaces nor
 * other characters than ASCII, so that no part of it looks like a line of words.
 *
 * @throws {TypeError} if it is not a URL.
 */
export function link(url: string): ShownText {
  return new ShownText(toLine(new URL(url).href, MAX_CHARS), { isData: true });
}
