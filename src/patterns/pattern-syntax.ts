/** Matches an escape in a pattern. */
const ESCAPE: RegExp =
  /\\(?:u([dD][89abAB][\da-fA-F]{2})\\u([dD][c-fC-F][\da-fA-F]{2})|u\{([\da-fA-F]+)\}|u([\da-fA-F]{4})|x([\da-fA-F]{2})|c([A-Za-z])|([pP])\{([^}]*)\}|(.))/suy;

/** ECMAScript's white space and its complement. In RE2, `\s` covers ASCII only. */
const SPACE = ranges(
  [9, 13],
  [32],
  [0xa0],
  [0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f],
  [0x205f],
  [0x3000],
  [0xfeff],
);

const NO_SPACE = ranges(
  [0, 8],
  [14, 31],
  [33, 0x9f],
  [0xa1, 0x167f],
  [0x1681, 0x1fff],
  [0x200b, 0x2027],
  [0x202a, 0x202e],
  [0x2030, 0x205e],
  [0x2060, 0x2fff],
  [0x3001, 0xfefe],
  [0xff00, 0x10ffff],
);

/** The characters that `.` does not match. */
const LINE_ENDS: string = ranges([10], [13], [0x2028, 0x2029]);

const CONTROLS: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13, 0: 0 };

/** The long names of Unicode's general categories. */
const CATEGORIES: Readonly<Record<string, string>> = {
  Letter: "L",
  Lowercase_Letter: "Ll",
  Uppercase_Letter: "Lu",
  Titlecase_Letter: "Lt",
  Mark: "M",
  Number: "N",
  Decimal_Number: "Nd",
  Punctuation: "P",
  Symbol: "S",
  Currency_Symbol: "Sc",
  Separator: "Z",
  Space_Separator: "Zs",
  Other: "C",
  Control: "Cc",
};

/** An ECMAScript pattern in the syntax of RE2. */
export interface TranslatedPattern {
  readonly re2: string;
  /** The number of characters and classes with all repetitions expanded. */
  readonly size: number;
  /**
   * Set if V8's own engine takes linear time for the pattern: it is anchored at the start, has no groups, and has at
   * most one repetition of variable length. The value is the number of pieces that the engine may have to retry at each
   * place where that repetition could end.
   */
  readonly retried?: number;
}

/** A pattern is not supported. `message` says why. */
export class PatternError extends Error {
  override readonly name = "PatternError";
}

const QUANTIFIER = /(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/y;
const GROUP = /\((?:\?:|\?<[^>=!]+>|(?!\?))/y;

/**
 * Translates a valid ECMAScript pattern.
 *
 * @throws {PatternError} for look-around and back-references, which no engine matches in linear time.
 */
export function translatePattern(source: string): TranslatedPattern {
  return new Translator(source).run();
}

/** The size of a group so far. */
interface OpenGroup {
  size: number;
  /** The size of the last piece, which a quantifier would repeat. */
  last: number;
}

class Translator {
  readonly #source: string;
  #at = 0;
  #re2 = "";
  readonly #groups: OpenGroup[] = [{ size: 0, last: 0 }];
  #isSimple = true;
  #retried: number | undefined;

  constructor(source: string) {
    this.#source = source;
    if (!source.startsWith("^")) this.#isSimple = false;
  }

  run(): TranslatedPattern {
    while (this.#at < this.#source.length) this.#step();
    const size = this.#groups[0]?.size ?? 0;
    return { re2: this.#re2, size, ...(this.#isSimple && { retried: this.#retried ?? 0 }) };
  }

  #take(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#source);
    if (found !== null) this.#at = pattern.lastIndex;
    return found;
  }

  #step(): void {
    const character = this.#source[this.#at] ?? "";
    const quantifier = this.#take(QUANTIFIER);
    if (quantifier !== null) this.#quantify(quantifier);
    else if (character === "\\") this.#escape();
    else if (character === "[") this.#piece(this.#characterClass());
    else if (character === "(") this.#open();
    else if (character === ")") this.#close();
    else if (character === "|" || character === "^" || character === "$") {
      // Alternatives backtrack. An anchor that is not at the start or end is left to RE2, too.
      if (character === "|" || (character === "^" && this.#at > 0)) this.#isSimple = false;
      this.#at++;
      this.#re2 += character;
    } else {
      const codePoint = this.#character();
      this.#piece(character === "." ? `[^${LINE_ENDS}]` : literal(codePoint));
    }
  }

  #character(): number {
    const codePoint = this.#source.codePointAt(this.#at) ?? 0;
    this.#at += codePoint > 0xffff ? 2 : 1;
    return codePoint;
  }

  /** A character or class. */
  #piece(re2: string): void {
    this.#re2 += re2;
    this.#grow(1);
  }

  #grow(size: number): void {
    const group = this.#groups.at(-1);
    if (group === undefined) return;
    group.size += size;
    group.last = size;
    if (this.#retried !== undefined) this.#retried += size;
  }

  #open(): void {
    if (this.#take(GROUP) === null) throw new PatternError("look-around and modifiers are not supported");
    this.#isSimple = false;
    this.#re2 += "(?:";
    this.#groups.push({ size: 0, last: 0 });
  }

  #close(): void {
    this.#at++;
    this.#re2 += ")";
    this.#grow(this.#groups.pop()?.size ?? 0);
  }

  #quantify([, sign, low, comma, high]: RegExpExecArray): void {
    const isExact = low !== undefined && (comma === "" || low === high);
    const most = Number(high || low || 1);
    // Laziness does not affect whether the pattern matches, so it is dropped.
    this.#re2 += sign ?? `{${low}${comma}${high}}`;
    this.#grow((this.#groups.at(-1)?.last ?? 0) * Math.max(most - 1, 0));
    if (isExact) return;
    if (this.#retried !== undefined) this.#isSimple = false;
    this.#retried = 0;
  }

  #escape(): void {
    const found = this.#take(ESCAPE);
    const name = found?.[9] ?? "";
    if (name === "b" || name === "B") {
      this.#isSimple = false;
      this.#re2 += `\\${name}`;
    } else if (/[1-9k]/.test(name)) throw new PatternError("back-references are not supported");
    else this.#piece(writeEscape(found, "alone"));
  }

  #characterClass(): string {
    this.#at++;
    let inside = "";
    const isNegated = this.#source[this.#at] === "^";
    if (isNegated) this.#at++;
    while (this.#source[this.#at] !== "]") {
      if (this.#at >= this.#source.length) throw new PatternError("the pattern has an unterminated class");
      if (this.#source[this.#at] === "\\") inside += writeEscape(this.#take(ESCAPE), "in-class");
      else {
        const codePoint = this.#character();
        inside += codePoint === 0x2d ? "-" : literal(codePoint);
      }
    }
    this.#at++;
    if (inside === "") return isNegated ? `[${ranges([0, 0x10ffff])}]` : `[^${ranges([0, 0x10ffff])}]`;
    return `[${isNegated ? "^" : ""}${inside}]`;
  }
}

/** Translates an escape to RE2, alone or within a class. */
function writeEscape(found: RegExpExecArray | null, where: "alone" | "in-class"): string {
  const [, high, low, braced, unit, byte, control, property, category = "", name = ""] = found ?? [];
  if (high !== undefined) return literal(String.fromCharCode(hex(high), hex(low)).codePointAt(0) ?? 0);
  const code = braced ?? unit ?? byte;
  if (code !== undefined) return literal(hex(code));
  if (control !== undefined) return literal(control.charCodeAt(0) % 32);
  if (property !== undefined) {
    const value = category.replace(/^(?:General_Category|gc|Script|sc)=/, "");
    return `\\${property}{${CATEGORIES[value] ?? value}}`;
  }
  switch (name) {
    case "d":
    case "D":
    case "w":
    case "W":
      return `\\${name}`;
    case "s":
      return where === "alone" ? `[${SPACE}]` : SPACE;
    case "S":
      return where === "alone" ? `[${NO_SPACE}]` : NO_SPACE;
    case "b":
      return literal(8);
    default:
      return literal(CONTROLS[name] ?? name.codePointAt(0) ?? 0);
  }
}

function hex(digits = "0"): number {
  return Number.parseInt(digits, 16);
}

/** Writes a character in the syntax of RE2. */
function literal(codePoint: number): string {
  return `\\x{${codePoint.toString(16)}}`;
}

/** Writes ranges of characters for a class in the syntax of RE2. */
function ranges(...list: readonly (readonly [number, number?])[]): string {
  return list.map(([first, last = first]) => `${literal(first)}-${literal(last)}`).join("");
}
