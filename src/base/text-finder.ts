import { beginning } from "./text.ts";

/**
 * The length up to which V8 searches for a text in linear time. For longer ones it falls back to an algorithm
 * that takes the product of both lengths in the worst case: minutes for texts that a model can choose.
 */
const MAX_NATIVE_LENGTH = 200;

/** This many characters take at most 192 bytes in UTF-8. */
const MAX_REQUIRED_LENGTH = 64;

/**
 * Returns the beginning of a text, for a quick check: bytes that do not contain it do not contain the text.
 * It is short enough for `Buffer.prototype.includes`, which has the same limit in bytes, to take linear time.
 */
export function requiredBeginning(text: string): string {
  return beginning(text, MAX_REQUIRED_LENGTH);
}

/** Finds a text in other texts, in time linear in their lengths. */
export class TextFinder {
  readonly #part: string;
  /** For each prefix of the text, the length of its longest proper prefix that is also its suffix. */
  readonly #borders: Uint32Array | undefined;

  /** @param part One or more characters. */
  constructor(part: string) {
    this.#part = part;
    if (part.length > MAX_NATIVE_LENGTH) this.#borders = bordersOf(part);
  }

  /** Like `String.prototype.indexOf`: the first position, or -1. */
  indexIn(text: string): number {
    return this.#borders === undefined
      ? text.indexOf(this.#part)
      : (this.positionsIn(text).next().value ?? -1);
  }

  /** The positions in a text, in order, without those that overlap the previous one. */
  positionsIn(text: string): Generator<number, void, undefined> {
    return this.#positions(text, false);
  }

  /** The positions of all occurrences in a text, in order; they may overlap. */
  allPositionsIn(text: string): Generator<number, void, undefined> {
    return this.#positions(text, true);
  }

  /**
   * Counts the occurrences in a text, including overlapping ones.
   *
   * @param most Counting stops at this number.
   */
  countIn(text: string, most: number): number {
    let count = 0;
    for (const _ of this.allPositionsIn(text)) if (++count >= most) break;
    return count;
  }

  #positions(text: string, overlapping: boolean): Generator<number, void, undefined> {
    return this.#borders === undefined
      ? positionsOfShort(text, this.#part, overlapping)
      : positionsOfLong(text, this.#part, this.#borders, overlapping);
  }
}

function* positionsOfShort(text: string, part: string, overlapping: boolean): Generator<number, void> {
  const step = overlapping ? 1 : part.length;
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + step)) yield at;
}

/** The algorithm of Knuth, Morris and Pratt. */
function* positionsOfLong(
  text: string,
  part: string,
  borders: Uint32Array,
  overlapping: boolean,
): Generator<number, void> {
  let matched = 0;
  for (let at = 0; at < text.length; at++) {
    matched = extend(part, borders, matched, text.charCodeAt(at));
    if (matched < part.length) continue;
    yield at + 1 - matched;
    matched = overlapping ? (borders[matched - 1] as number) : 0;
  }
}

function bordersOf(part: string): Uint32Array {
  const borders = new Uint32Array(part.length);
  let matched = 0;
  for (let at = 1; at < part.length; at++) {
    matched = extend(part, borders, matched, part.charCodeAt(at));
    borders[at] = matched;
  }
  return borders;
}

/** Returns how many characters match after the next one, if `before` matched so far. */
function extend(part: string, borders: Uint32Array, before: number, code: number): number {
  let matched = before;
  while (matched > 0 && part.charCodeAt(matched) !== code) matched = borders[matched - 1] as number;
  return part.charCodeAt(matched) === code ? matched + 1 : matched;
}
