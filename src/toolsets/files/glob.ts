import type { GlobToken } from "./glob-tokens.ts";

const SLASH = 0x2f;

/**
 * A glob that matches whole texts. It follows all ways to match at once, so that a text takes time in proportion to its
 * length and to that of the glob, whatever they are.
 */
export class Glob {
  readonly #tokens: readonly GlobToken[];
  /** For each place in the glob, the step in which it was last reached. */
  readonly #reachedIn: Int32Array;
  readonly #minLength: number;
  #step = 0;

  constructor(tokens: readonly GlobToken[]) {
    this.#tokens = tokens;
    this.#minLength = tokens.filter(({ kind }) => kind === "character" || kind === "set").length;
    this.#reachedIn = new Int32Array(tokens.length + 1);
  }

  matches(text: string): boolean {
    const [first] = this.#tokens;
    if (text.length < this.#minLength) return false;
    if (first?.kind === "character" && first.code !== text.codePointAt(0)) return false;
    if (this.#step > 1_000_000_000) this.#restart();
    let places: number[] = [];
    this.#step++;
    this.#reach(0, places);
    for (const character of text) {
      if (places.length === 0) return false;
      const code = character.codePointAt(0) ?? 0;
      const next: number[] = [];
      this.#step++;
      for (const place of places) this.#advance(place, code, next);
      places = next;
    }
    return places.includes(this.#tokens.length);
  }

  #restart(): void {
    this.#step = 0;
    this.#reachedIn.fill(0);
  }

  #advance(place: number, code: number, next: number[]): void {
    const token = this.#tokens[place];
    if (token === undefined) return;
    switch (token.kind) {
      case "character":
        if (token.code === code) this.#reach(place + 1, next);
        return;
      case "set":
        if (code !== SLASH && isIn(token.ranges, code) !== token.isNegated) this.#reach(place + 1, next);
        return;
      case "star":
        if (code !== SLASH) this.#reach(place, next);
        return;
      case "deep":
        this.#reach(place, next);
        return;
      case "deep-slash":
        this.#add(place, next);
        if (code === SLASH) this.#reach(place + 1, next);
    }
  }

  /** Adds a place, and those behind it that are reached without a character. */
  #reach(place: number, places: number[]): void {
    for (let at = place; ; at++) {
      this.#add(at, places);
      const kind = this.#tokens[at]?.kind;
      if (kind === undefined || kind === "character" || kind === "set") return;
    }
  }

  #add(place: number, places: number[]): void {
    if (this.#reachedIn[place] === this.#step) return;
    this.#reachedIn[place] = this.#step;
    places.push(place);
  }
}

function isIn(ranges: readonly (readonly [number, number])[], code: number): boolean {
  return ranges.some(([first, last]) => code >= first && code <= last);
}
