/** A line of a text. */
export interface Line {
  /** From 1. */
  readonly number: number;
  /** Without the line end. */
  readonly text: string;
}

/** Splits a text into lines. A line end at the end of the text begins no line. */
export function* linesOf(text: string): Generator<Line, void, undefined> {
  let number = 0;
  for (let start = 0; start < text.length; ) {
    const found = text.indexOf("\n", start);
    const end = found < 0 ? text.length : found;
    yield {
      number: ++number,
      text: text.slice(start, text[end - 1] === "\r" && end > start ? end - 1 : end),
    };
    start = end + 1;
  }
}
