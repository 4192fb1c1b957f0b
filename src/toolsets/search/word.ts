const WORD = /^[\p{L}\p{M}\p{N}_$]/u;
const WORD_BEFORE = /[\p{L}\p{M}\p{N}_$]$/u;

/**
 * Returns where a text first has a symbol as a whole word, or -1: no letter, digit, `_` or `$` is beside it, unless the
 * symbol itself begins or ends with another character.
 */
export function findWord(text: string, symbol: string): number {
  const beginsWord = WORD.test(symbol);
  const endsWord = WORD_BEFORE.test(symbol);
  for (let at = text.indexOf(symbol); at >= 0; at = text.indexOf(symbol, at + 1)) {
    const end = at + symbol.length;
    const isInside =
      (beginsWord && WORD_BEFORE.test(text.slice(Math.max(0, at - 2), at))) ||
      (endsWord && WORD.test(text.slice(end, end + 2)));
    if (!isInside) return at;
  }
  return -1;
}
