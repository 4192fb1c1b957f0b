/** The positions of a text, in UTF-16 code units, that are shown as escapes. */
export class Marks {
  readonly #marked: Uint8Array;

  constructor(text: string) {
    this.#marked = new Uint8Array(text.length);
  }

  /** Marks `text.slice(start, end)`. */
  add(start: number, end: number): void {
    this.#marked.fill(1, start, end);
  }

  has(index: number): boolean {
    return this.#marked[index] === 1;
  }
}

/** Marks everything that an expression with the flag `g` matches, in a part of a text that starts at `offset`. */
export function markMatches(part: string, pattern: RegExp, marks: Marks, offset = 0): void {
  for (const { index, 0: found } of part.matchAll(pattern)) {
    marks.add(offset + index, offset + index + found.length);
  }
}
