import { standsWhole } from "../../policy/words/whole-text.ts";

/** The most UTF-16 code units of values that a session remembers to look for in texts. */
const MAX_KEPT = 262_144;
/** Shorter values are looked for as words: they would be in every text. */
const MIN_SQUEEZED = 4;

const SPACING = /[^\p{L}\p{N}]+/gu;

/** Values of one field, to be looked for in texts. They are stored as they are: a digest cannot be looked for. */
export class ContentValues {
  readonly #squeezed = new Set<string>();
  readonly #short = new Set<string>();
  #length = 0;
  #isWhole = true;

  add(value: string): void {
    const squeezed = squeeze(value);
    if (squeezed === "" || this.#squeezed.has(squeezed)) return;
    if (this.#length + value.length > MAX_KEPT) {
      this.#isWhole = false;
      return;
    }
    this.#length += value.length;
    if (squeezed.length < MIN_SQUEEZED) this.#short.add(fold(value).trim());
    else this.#squeezed.add(squeezed);
  }

  /** Whether a text contains one of the values; `undefined` if it could contain one that is not remembered. */
  areIn(text: string): boolean | undefined {
    const squeezed = squeeze(text);
    for (const value of this.#squeezed) if (squeezed.includes(value)) return true;
    const folded = this.#short.size === 0 ? "" : fold(text);
    for (const value of this.#short) if (standsWhole(folded, value)) return true;
    return this.#isWhole ? false : undefined;
  }
}

/** A text without case, blanks and punctuation: `0123-4567` and `01 23 45 67` are the same. */
function squeeze(text: string): string {
  return fold(text).replace(SPACING, "");
}

function fold(text: string): string {
  return text.normalize("NFKC").toLowerCase();
}
