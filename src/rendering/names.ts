import { type Marks, markMatches } from "./marks.ts";

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

const LETTERS_OTHER_THAN_LATIN = /(?!\p{Script=Latin})\p{L}/gu;
const LETTERS_BEYOND_ASCII = /(?![A-Za-z])\p{L}/gu;
const DIGITS_BEYOND_ASCII = /(?!\d)\p{Nd}/gu;

/**
 * Marks letters that can be taken for those of another script: in words of several scripts, such as `pаypal` with a
 * Cyrillic `а`, and in words of which every letter looks like a Latin one. Marks digits in the same way.
 */
export function markNames(text: string, isJson: boolean, marks: Marks): void {
  if (!NON_ASCII.test(text)) return;
  for (const { index, 0: word } of text.matchAll(isJson ? WORD_OF_JSON : WORD)) {
    if (word.startsWith("\\") || !NON_ASCII.test(word)) continue;
    const scripts = scriptsOf(word);
    if (scripts.size > 1) {
      markMatches(word, scripts.has("Latin") ? LETTERS_OTHER_THAN_LATIN : LETTERS_BEYOND_ASCII, marks, index);
    } else if (LOOK_ALIKE.test(word) && !isLetterOfProse(text, index, word)) {
      markMatches(word, LETTERS_BEYOND_ASCII, marks, index);
    }
    if (/[A-Za-z0-9]/.test(word)) markMatches(word, DIGITS_BEYOND_ASCII, marks, index);
  }
}

/** Many languages have words of one letter. They have spaces around them, which an option or a path does not have. */
function isLetterOfProse(text: string, index: number, word: string): boolean {
  if (word.length !== 1) return false;
  const [before = " ", after = " "] = [text[index - 1], text[index + 1]];
  return before === " " && (after === " " || after === ",");
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
