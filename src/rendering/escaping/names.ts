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

/** Letters, digits and marks in a row. Invisible characters do not end a word, as they are not seen to. */
const WORD = /[\p{L}\p{M}\p{N}\p{Default_Ignorable_Code_Point}_]+/gu;
/** Like {@link WORD}, but of a JSON text, in which the letter of an escape belongs to no word. */
const WORD_OF_JSON = new RegExp(`\\\\(?:u[\\da-f]{4}|.)|${WORD.source}`, "gu");

const NON_ASCII = /[^\0-\x7f]/;
const LATIN = /\p{Script=Latin}/u;
/** Scripts that are written together, and whose names contain Latin letters. */
const EAST_ASIAN =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}]/u;
const WITHOUT_SCRIPT = /[\p{Script=Common}\p{Script=Inherited}]/u;
/** Scripts in which letters of the others have look-alikes. All further scripts count as one. */
const OTHER_SCRIPTS: readonly RegExp[] = [
  /\p{Script=Cyrillic}/u,
  /\p{Script=Greek}/u,
  /\p{Script=Armenian}/u,
  /\p{Script=Hebrew}/u,
  /\p{Script=Arabic}/u,
  /\p{Script=Devanagari}/u,
  /\p{Script=Thai}/u,
  /\p{Script=Georgian}/u,
];

/** Words of letters that all look like Latin ones, and words of scripts that consist of such letters for the most part. */
const LOOK_ALIKE =
  /^[асеһіјорѕухԁԛԝӏАВСЕНІЈКМОРЅТУХҮԚԜӀανορτυικΑΒΕΖΗΙΚΜΝΟΡΤΥΧϲϳօոսհցյԼՏՕՍ\p{Script=Cherokee}\p{Script=Lisu}\p{Script=Coptic}\p{Script=Gothic}\p{Script=Deseret}\p{Script=Old_Italic}\p{N}\p{M}_]+$/u;

const NEIGHBOURHOOD = 64;
const WORD_BEFORE = /([\p{L}\p{M}]+),? $/u;
const WORD_AFTER = /^,? ([\p{L}\p{M}]+)/u;
const END_OF_PROSE = /^[.,!?]?$/;

const LETTERS_OTHER_THAN_LATIN = /(?!\p{Script=Latin})\p{L}/gu;
const LETTERS_BEYOND_ASCII = /(?![A-Za-z])\p{L}/gu;
const DIGITS_BEYOND_ASCII = /(?!\d)\p{Nd}/gu;

/**
 * Marks letters that can be taken for those of another script: in words of several scripts, such as `pаypal` with a
 * Cyrillic `а`, and in words of which every letter looks like a Latin one, unless the words beside it show that it is not.
 * Marks digits in the same way.
 */
export function markNames(text: string, isJson: boolean, marks: Marks): void {
  if (!NON_ASCII.test(text)) return;
  for (const { index, 0: word } of text.matchAll(isJson ? WORD_OF_JSON : WORD)) {
    if (word.startsWith("\\") || !NON_ASCII.test(word)) continue;
    const scripts = scriptsOf(word);
    if (scripts.size > 1) {
      markMatches(word, scripts.has("Latin") ? LETTERS_OTHER_THAN_LATIN : LETTERS_BEYOND_ASCII, marks, index);
    } else if (LOOK_ALIKE.test(word) && !isInProse(text, index, index + word.length, scripts)) {
      markMatches(word, LETTERS_BEYOND_ASCII, marks, index);
    }
    if (/[A-Za-z0-9]/.test(word)) markMatches(word, DIGITS_BEYOND_ASCII, marks, index);
  }
}

/** Whether the words beside a word, with spaces between, are of the same script, and do not look Latin themselves. */
function isInProse(text: string, start: number, end: number, scripts: ReadonlySet<string>): boolean {
  const before = text.slice(Math.max(0, start - NEIGHBOURHOOD), start);
  const after = text.slice(end, end + NEIGHBOURHOOD);
  const neighbours = [WORD_BEFORE.exec(before)?.[1], WORD_AFTER.exec(after)?.[1]];
  if (neighbours.every((word) => word === undefined)) return false;
  if (neighbours[0] === undefined && before !== "") return false;
  if (neighbours[1] === undefined && !END_OF_PROSE.test(after)) return false;
  return neighbours.every((word) => word === undefined || isEvidently(word, scripts));
}

function isEvidently(word: string, scripts: ReadonlySet<string>): boolean {
  return !LOOK_ALIKE.test(word) && scriptsOf(word).symmetricDifference(scripts).size === 0;
}

function scriptsOf(word: string): ReadonlySet<string> {
  const scripts = new Set<string>();
  for (const letter of word.match(/\p{L}/gu) ?? []) {
    if (LATIN.test(letter)) scripts.add("Latin");
    else if (!WITHOUT_SCRIPT.test(letter) && !EAST_ASIAN.test(letter)) {
      scripts.add(OTHER_SCRIPTS.find((script) => script.test(letter))?.source ?? "other");
    }
  }
  if (scripts.size > 0 && !(scripts.size === 1 && scripts.has("Latin")) && EAST_ASIAN.test(word)) {
    scripts.add("East Asian");
  }
  return scripts;
}

/** Marks everything that an expression with the flag `g` matches, in a part of a text that starts at `offset`. */
export function markMatches(part: string, pattern: RegExp, marks: Marks, offset = 0): void {
  for (const { index, 0: found } of part.matchAll(pattern)) {
    marks.add(offset + index, offset + index + found.length);
  }
}
