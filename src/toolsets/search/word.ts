import { TextFinder } from "../../base/text-finder.ts";

const WORD = /^[\p{L}\p{M}\p{N}_$]/u;
const REST_OF_WORD = /[\p{L}\p{M}\p{N}_$]*/uy;
const WORD_BEFORE = /[\p{L}\p{M}\p{N}_$]$/u;

/**
 * Returns where a text first has a symbol as a whole word, or -1: no letter, digit, `_` or `$` is beside it, unless the
 * symbol itself begins or ends with another character.
 */
export function findWord(text: string, symbol: string): number {
  const beginsWord = WORD.test(symbol);
  const endsWord = WORD_BEFORE.test(symbol);
  let next = 0;
  for (const at of new TextFinder(symbol).allPositionsIn(text)) {
    if (at < next) continue;
    const end = at + symbol.length;
    const isInside =
      (beginsWord && WORD_BEFORE.test(text.slice(Math.max(0, at - 2), at))) ||
      (endsWord && WORD.test(text.slice(end, end + 2)));
    if (!isInside) return at;
    // Everything else in the same word has a letter before it.
    if (beginsWord) next = endOfWord(text, at);
  }
  return -1;
}

function endOfWord(text: string, start: number): number {
  REST_OF_WORD.lastIndex = start;
  REST_OF_WORD.test(text);
  return REST_OF_WORD.lastIndex;
}
