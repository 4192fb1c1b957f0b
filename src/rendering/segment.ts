/** A part of a text that a person is shown. Without control characters, except line feeds if the text keeps its lines. */
export interface Segment {
  /**
   * Who says it: `text` and `escape` are of the foreign text, as it is or as an escape for a character that is not shown
   * as it is. A `note` is Sandgate's, about what is not shown.
   */
  readonly kind: "text" | "escape" | "note";
  readonly text: string;
}

/** Makes a note, in brackets that are escaped wherever else they appear. */
export function note(text: string): Segment {
  return { kind: "note", text: `⟦${text}⟧` };
}

/** `1 space`, `12,345 characters` */
export function count(amount: number, noun: string): string {
  return `${amount.toLocaleString("en-US")} ${noun}${amount === 1 ? "" : "s"}`;
}
