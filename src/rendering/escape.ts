/** The positions of a text, in UTF-16 code units, that are shown as escapes. */
class Marks {
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

/** Scripts with letters that look like those of another one. All further scripts count as one. */
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

/** A part of a text for a person: without control characters, except line feeds if the text keeps its lines. */
export interface Segment {
  /**
   * Its origin: `text` is of the foreign text, `escape` stands for a character of it that is not shown as it is, and a
   * `note` is Sandgate's, about what is not shown.
   */
  readonly kind: "text" | "escape" | "note";
  readonly text: string;
}

/**
 * Characters that a person cannot see or recognise: control and format characters, bidi controls, halves
 * of surrogate pairs, private and unassigned characters, separators and blanks other than the space, variation
 * selectors, tags.
 */
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\ufffc]|(?! )\p{Zs}/gu;

/** Like {@link HIDDEN}, without the line feed. */
const HIDDEN_IN_LINES = new RegExp(`(?!\\n)(?:${HIDDEN.source})`, "gu");

/** Marks that strike through or enclose the letter before them. */
const OVERLAYS = /\p{Me}|[\u0334-\u0338]|[\u20d2\u20d3\u20d8-\u20da\u20e5\u20e6\u20ea\u20eb]/gu;

/** Letters and digits in a style, such as the full-width and the mathematical ones, and Latin ones that look like others. */
const STYLED =
  /[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\u{1d400}-\u{1d7ff}\u2160-\u217f\u2102\u210a-\u2113\u2115\u2119-\u211d\u2124\u2128\u212a-\u212d\u212f-\u2134\u2139\u2145-\u2149\u{1fbf0}-\u{1fbf9}\u017f\u0251\u0261]/gu;

/** Punctuation that looks like that of paths, URLs, JSON and shells: slash, backslash, dot, colon, semicolon, `@`, `|`, `!`, `"`. */
const PUNCTUATION =
  /[\u2044\u2215\u29f8\u2571\uff0f\u2216\u29f5\ufe68\uff3c\u2024\ufe52\uff0e\u0589\u05c3\ua789\u2236\u02d0\ufe55\u037e\ufe54\uff20\ufe6b\u2223\u01c0\u01c3\u02ba\uff02\uff07]/g;

/** The brackets of Sandgate's own notes: no other text shows them. */
const NOTE_BRACKETS = /[\u27e6\u27e7]/g;

/** Combining marks, with the character before them. */
const STACK = /(^|[^\p{M}])(\p{M}+)/gu;

/** What combining marks may stand on: letters. On anything else they could hide punctuation, or Sandgate's own words. */
const BASE = /\p{L}/u;

/** The marks that one letter may have. Vietnamese and Thai need two, Hebrew with points three. */
const MAX_MARKS = 3;

const RIGHT_TO_LEFT =
  "[\\u0590-\\u08ff\\ufb1d-\\ufdff\\ufe70-\\ufefc\\u{10800}-\\u{10fff}\\u{1e800}-\\u{1efff}]";

/** Words that are written from right to left, with spaces and commas between them. */
const RUN = new RegExp(`${RIGHT_TO_LEFT}+(?:[ ,]{1,2}${RIGHT_TO_LEFT}+)*`, "gu");

/** What decides about the direction of the punctuation before it. */
const DECIDING = /[\p{L}\p{N}\n]/gu;

const IS_RIGHT_TO_LEFT = new RegExp(`^(?:${RIGHT_TO_LEFT}|\\p{N})`, "u");

/** A character with its combining marks, or Korean letters that form syllables. */
const CLUSTER = /[\u1100-\u11ff]+|\P{M}\p{M}*/gu;

/** Options of {@link escapeText}. */
export interface EscapeOptions {
  /** `json` for a JSON text, in which a backslash starts an escape already. Default: `text`. */
  readonly syntax?: "text" | "json";
  /** Whether line feeds stay as they are. Otherwise the text becomes one line. Default: `false`. */
  readonly keepsLines?: boolean;
  /** A note counts the spaces in a row beyond this number. Default: 32. */
  readonly maxSpaces?: number;
}

const SHORT_ESCAPES: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };
const PLAIN = /^[ -[\]-~]*$/;
const READS_AS_ESCAPE = /^[\\nrtu]?$/;
const MAX_SPACES = 32;
const MAX_LINE_BREAKS = 4;

/**
 * Escapes everything in a foreign text that is not what it looks like: `\u202e`, like in JSON. Where a backslash would
 * read as the start of an escape, it is doubled, so that two texts never look the same, unless a note counts something.
 */
export function escapeText(text: string, options: EscapeOptions = {}): readonly Segment[] {
  const { syntax = "text", keepsLines = false, maxSpaces = MAX_SPACES } = options;
  const writer = new SegmentWriter();
  const marks = new Marks(text);
  if (!PLAIN.test(text)) {
    markCharacters(text, keepsLines, marks);
    markNames(text, syntax === "json", marks);
    markReordering(text, marks);
    markDecomposed(text, marks);
    markStacks(text, marks);
  }
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charAt(at);
    if (marks.has(at)) {
      writer.add("text", text.slice(from, at));
      writer.add("escape", SHORT_ESCAPES[unit] ?? escapeUnit(unit));
      from = at + 1;
    } else if (unit === "\\") {
      if (syntax === "json" || !isAmbiguous(text, at, marks)) continue;
      writer.add("text", text.slice(from, at));
      writer.add("escape", "\\\\");
      from = at + 1;
    } else if (unit === " " || unit === "\n") {
      const end = endOfRun(text, at, unit);
      const shown = at + (unit === " " ? maxSpaces : MAX_LINE_BREAKS);
      if (end > shown) {
        writer.add("text", text.slice(from, shown));
        writer.append(note(count(end - shown, unit === " " ? "space" : "line break")));
        from = end;
      }
      at = end - 1;
    }
  }
  writer.add("text", text.slice(from));
  return writer.segments();
}

function isAmbiguous(text: string, at: number, marks: Marks): boolean {
  return marks.has(at + 1) || READS_AS_ESCAPE.test(text.charAt(at + 1));
}

function endOfRun(text: string, start: number, unit: string): number {
  let end = start + 1;
  while (text.charAt(end) === unit) end++;
  return end;
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Joins what follows each other and is of the same kind. */
class SegmentWriter {
  readonly #segments: Segment[] = [];
  #kind: "text" | "escape" = "text";
  #text = "";

  add(kind: "text" | "escape", text: string): void {
    if (kind !== this.#kind) this.#flush();
    this.#kind = kind;
    this.#text += text;
  }

  append(segment: Segment): void {
    this.#flush();
    this.#segments.push(segment);
  }

  segments(): readonly Segment[] {
    this.#flush();
    return this.#segments;
  }

  #flush(): void {
    if (this.#text !== "") this.#segments.push({ kind: this.#kind, text: this.#text });
    this.#text = "";
  }
}

/**
 * Marks what looks the same as other characters by definition of Unicode: `e` with a combining accent, which looks like
 * `é`. Texts are usually composed (in the form NFC), so only the others are marked.
 */
function markDecomposed(text: string, marks: Marks): void {
  if (text.normalize("NFC") === text) return;
  for (const { index, 0: cluster } of text.matchAll(CLUSTER)) {
    if (cluster.normalize("NFC") === cluster) continue;
    const [base = ""] = cluster;
    const isBaseShown = base.normalize("NFC") === base && cluster.length > base.length;
    marks.add(index + (isBaseShown ? base.length : 0), index + cluster.length);
  }
}

/**
 * Marks words that are written from right to left if they would move what follows them in the line: in `"א", "ב"` and
 * `א = 5`, terminals and browsers show what is right of the first letter to its left.
 */
function markReordering(text: string, marks: Marks): void {
  for (const { index, 0: run } of text.matchAll(RUN)) {
    DECIDING.lastIndex = index + run.length;
    const next = DECIDING.exec(text)?.[0];
    if (next !== undefined && IS_RIGHT_TO_LEFT.test(next)) marks.add(index, index + run.length);
  }
}

/**
 * Marks combining marks that stand on no letter, are too many for it, or repeat the one before, and all after them.
 *
 * @param marks Has everything else that is not shown as it is: a combining mark would stand on the escape.
 */
function markStacks(text: string, marks: Marks): void {
  for (const { index, 1: base = "", 2: stack = "" } of text.matchAll(STACK)) {
    let at = index + base.length;
    const end = at + stack.length;
    if (BASE.test(base) && !marks.has(index)) at += shownLength(stack, (offset) => marks.has(at + offset));
    marks.add(at, end);
  }
}

function shownLength(stack: string, isMarked: (offset: number) => boolean): number {
  let length = 0;
  let shown = 0;
  let previous = "";
  for (const mark of stack) {
    if (isMarked(length) || mark === previous || shown === MAX_MARKS) break;
    shown++;
    length += mark.length;
    previous = mark;
  }
  return length;
}

/** Marks the characters that are not shown as they are, wherever they stand. */
function markCharacters(text: string, keepsLines: boolean, marks: Marks): void {
  for (const pattern of [
    keepsLines ? HIDDEN_IN_LINES : HIDDEN,
    OVERLAYS,
    STYLED,
    PUNCTUATION,
    NOTE_BRACKETS,
  ]) {
    markMatches(text, pattern, marks);
  }
}

/** Makes a note, in brackets that are escaped wherever else they appear. */
export function note(text: string): Segment {
  return { kind: "note", text: `⟦${text}⟧` };
}

/** `1 space`, `12,345 characters` */
export function count(amount: number, noun: string): string {
  return `${amount.toLocaleString("en-US")} ${noun}${amount === 1 ? "" : "s"}`;
}

/**
 * Marks letters that can be taken for those of another script: in words of several scripts, such as `pаypal` with a
 * Cyrillic `а`, and in words of which every letter looks like a Latin one, unless the words beside it show that it is not.
 * Marks digits in the same way.
 */
function markNames(text: string, isJson: boolean, marks: Marks): void {
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
function markMatches(part: string, pattern: RegExp, marks: Marks, offset = 0): void {
  for (const { index, 0: found } of part.matchAll(pattern)) {
    marks.add(offset + index, offset + index + found.length);
  }
}
