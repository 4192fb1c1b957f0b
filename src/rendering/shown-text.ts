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
