import { render, textOf } from "./render.ts";
import { ShownText } from "./shown-text.ts";

/** The most characters of a value in a text. */
const MAX_CHARS = 1_000;

/**
 * Makes a text of Sandgate's own words, the literal, and of values that may be foreign: each is rendered as part of one
 * line. A value that was rendered before stays as it is.
 */
export function shown(
  words: TemplateStringsArray,
  ...values: readonly (ShownText | string | number)[]
): ShownText {
  const texts = values.map((value) => (value instanceof ShownText ? value.text : toLine(String(value))));
  return new ShownText(String.raw({ raw: words }, ...texts));
}

/** Renders a foreign text as one line of at most `chars` of its characters. */
export function toLine(text: string, chars: number = MAX_CHARS): string {
  return textOf(render(text, { chars }));
}

/** Joins texts. */
export function joinShown(texts: readonly ShownText[], separator: string): ShownText {
  return new ShownText(texts.map(({ text }) => text).join(separator));
}
