import { escapeText } from "./escape.ts";
import { render, textOf } from "./render.ts";

/** Notes would not be JSON. */
const DATA = { syntax: "json", keepsLines: true, maxSpaces: Number.POSITIVE_INFINITY } as const;

/**
 * A text that a terminal may show: words of Sandgate, and foreign text that was rendered. What prints takes only this, so
 * that the compiler finds a text that was not rendered.
 */
export class ShownText {
  readonly text: string;
  /** Whether the text is for programs as well, so that its lines must not be wrapped. */
  readonly isData: boolean;

  /** @param text Sandgate's own words, or rendered. */
  constructor(text: string, { isData = false }: { readonly isData?: boolean } = {}) {
    this.text = text;
    this.isData = isData;
  }
}

/** Maximum number of characters of a value in a text. */
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

/**
 * Serialises a value as indented JSON, whole, in which everything that is not what it looks like is escaped. Programs read
 * it back as the same value.
 */
export function toPrintableJson(value: unknown): ShownText {
  const segments = escapeText(JSON.stringify(value, null, 2), DATA);
  return new ShownText(textOf({ segments }), { isData: true });
}
