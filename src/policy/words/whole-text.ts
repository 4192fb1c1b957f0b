/** Characters that end a value on either side: white space, quotation marks, brackets, list separators. */
const SEPARATOR = /[\s"“”„«»`()[\]{}<>,;|]/u;
/** A single quotation mark ends a value, also before a genitive s, but not within a word or link: `O'Brien`. */
const APOSTROPHE =
  /^['’‘](?:s(?![^\s"“”„«»`()[\]{}<>,;|.!?:…*_'’‘])|(?=[\s"“”„«»`()[\]{}<>,;|.!?:…*_'’‘]|$))/u;
/** May stand before a value if nothing else does: `@ann`, `#general`, `*now*`. */
const PREFIX = /[@#*_'’‘]/u;
/** Ends a sentence, or an emphasis, if a separator follows. */
const ENDING = /[.!?:…*_'’]/u;
const DIGIT = /\d/;
/** The most characters at the end of a sentence that are skipped. */
const MAX_ENDING = 8;

/**
 * Whether a value stands in a text as a whole: exactly, and not as a part of a longer word, name, number, address or
 * link. `ann@x.com` is not in `joann@x.com`, `ann@x.com.example`, nor in `ann@x.com/inbox`. If in doubt, it is not.
 */
export function standsWhole(text: string, value: string): boolean {
  if (value === "") return false;
  for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + 1)) {
    if (beginsAt(text, at) && endsAt(text, at + value.length)) return true;
  }
  return false;
}

function beginsAt(text: string, at: number): boolean {
  const before = text[at - 1];
  if (before === undefined) return true;
  if (before === "," && DIGIT.test(text[at - 2] ?? "") && DIGIT.test(text[at] ?? "")) return false;
  if (SEPARATOR.test(before)) return true;
  return PREFIX.test(before) && isSeparated(text[at - 2]);
}

function endsAt(text: string, end: number): boolean {
  const after = text[end];
  if (after === undefined || APOSTROPHE.test(text.slice(end, end + 3))) return true;
  if (after === "," && DIGIT.test(text[end - 1] ?? "") && DIGIT.test(text[end + 1] ?? "")) return false;
  if (SEPARATOR.test(after)) return true;
  for (let next = end; next < end + MAX_ENDING; next++) {
    if (!ENDING.test(text[next] ?? "")) return isSeparated(text[next]) && next > end;
  }
  return false;
}

function isSeparated(neighbour: string | undefined): boolean {
  return neighbour === undefined || SEPARATOR.test(neighbour);
}
