import { stripVTControlCharacters, styleText } from "node:util";
import { ShownText } from "../../rendering/shown-text.ts";

/** What a style means. The colours are the same in every command. */
const STYLES = { good: "green", bad: "red", caution: "yellow", heading: "bold", minor: "dim" } as const;

/**
 * Styles a text for terminals with colours; `print` leaves the style out elsewhere. Only escape sequences of this function
 * reach a terminal: those in foreign text are rendered as visible characters before.
 */
export function styled(style: keyof typeof STYLES, { text, isData }: ShownText): ShownText {
  return new ShownText(styleText(STYLES[style], text, { validateStream: false }), { isData });
}

/** Removes the styles of a text. */
export function withoutStyles(text: string): string {
  return text.includes("\u001b") ? stripVTControlCharacters(text) : text;
}

/**
 * Whether a stream shows colours: a terminal does unless `NO_COLOR` is set or it is `dumb`, and any stream does if
 * `FORCE_COLOR` is set.
 */
export function hasColors(stream: NodeJS.WritableStream): boolean {
  // It applies the rules of Node.js for these variables.
  return styleText("bold", "x", { stream }) !== "x";
}
