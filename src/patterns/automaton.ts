import type { PatternOptions } from "./pattern.ts";
import { PatternError, translatePattern } from "./pattern-syntax.ts";

/** A set of code points: the first and the last one of each of its ranges, in ascending order. */
type CodePoints = readonly (readonly [first: number, last: number])[];

const LAST = 0x10ffff;

/** Characters that make a found text readable, in order of preference. */
const PREFERRED = Array.from("a0bA_-/. @:", (character) => character.codePointAt(0) as number);

/** A nondeterministic automaton that finds a match anywhere in a text: instructions, of which the first one is {@link start}. */
export interface Program {
  readonly instructions: readonly Instruction[];
  readonly start: number;
  /** The sets of its instructions, and what decides about boundaries of words if it asks for them. */
  readonly sets: readonly CodePoints[];
}

/** Reads one code point, continues at several places, requires something of the place in the text, or matches. */
export type Instruction =
  | { readonly read: CodePoints; readonly next: number }
  | { readonly either: readonly number[] }
  | { readonly at: Assertion; readonly next: number }
  | { readonly isMatch: true };

export type Assertion = "start" | "end" | "boundary" | "inside";

/** Maximum number of instructions of a program. */
const MAX_INSTRUCTIONS = 4_000;

const DIGITS: CodePoints = [[0x30, 0x39]];
export const WORD: CodePoints = union(DIGITS, [[0x41, 0x5a]], [[0x5f, 0x5f]], [[0x61, 0x7a]]);
const CLASSES: Readonly<Record<string, CodePoints>> = {
  d: DIGITS,
  D: complement(DIGITS),
  w: WORD,
  W: complement(WORD),
};
const ASSERTIONS: Readonly<Record<string, Assertion>> = {
  "^": "start",
  $: "end",
  "\\b": "boundary",
  "\\B": "inside",
};

type Tree =
  | { readonly set: CodePoints }
  | { readonly at: Assertion }
  | { readonly all: readonly Tree[] }
  | { readonly any: readonly Tree[] }
  | { readonly repeated: Tree; readonly least: number; readonly most: number };

/**
 * Compiles a valid pattern in ECMAScript's syntax. It can be larger than those that users write.
 *
 * @throws {PatternError} if it is too large, or has what `translatePattern` does not support, or properties of Unicode.
 */
export function compileProgram(source: string, { ignoreCase = false }: PatternOptions = {}): Program {
  return new Compiler().compile(new Parser(translatePattern(source).re2, ignoreCase).parse());
}

/** Parses what `translatePattern` writes. */
class Parser {
  readonly #re2: string;
  readonly #ignoreCase: boolean;
  #at = 0;

  constructor(re2: string, ignoreCase: boolean) {
    this.#re2 = re2;
    this.#ignoreCase = ignoreCase;
  }

  parse(): Tree {
    const any = [this.#sequence()];
    while (this.#take(/\|/y) !== undefined) any.push(this.#sequence());
    return { any };
  }

  #sequence(): Tree {
    const all: Tree[] = [];
    while (this.#at < this.#re2.length && !"|)".includes(this.#re2[this.#at] ?? "")) {
      all.push(this.#repeated(this.#piece()));
    }
    return { all };
  }

  #repeated(piece: Tree): Tree {
    const [, sign, low, comma, high] = this.#take(/([*+?])|\{(\d+)(,?)(\d*)\}/y) ?? [];
    if (sign === undefined && low === undefined) return piece;
    const least = sign === undefined ? Number(low) : sign === "+" ? 1 : 0;
    if (sign !== undefined) return { repeated: piece, least, most: sign === "?" ? 1 : Infinity };
    return { repeated: piece, least, most: comma === "" ? least : high === "" ? Infinity : Number(high) };
  }

  #piece(): Tree {
    const [place] = this.#take(/[$^]|\\[bB]/y) ?? [];
    if (place !== undefined) return { at: ASSERTIONS[place] as Assertion };
    if (this.#take(/\(\?:/y) !== undefined) {
      const group = this.parse();
      this.#take(/\)/y);
      return group;
    }
    const negation = this.#take(/\[(\^?)/y);
    if (negation === undefined) return { set: this.#folded(this.#item()) };
    const sets: CodePoints[] = [];
    while (this.#take(/\]/y) === undefined) sets.push(this.#range());
    const set = this.#folded(union(...sets));
    return { set: negation[1] === "^" ? complement(set) : set };
  }

  #range(): CodePoints {
    const from = this.#take(/-/y) === undefined ? this.#item() : [[0x2d, 0x2d] as const];
    const before = this.#at;
    if (from.length !== 1 || from[0]?.[0] !== from[0]?.[1] || this.#take(/-(?!\])/y) === undefined)
      return from;
    const [to] = this.#item();
    if (to === undefined || to[0] !== to[1]) this.#at = before;
    return [[from[0]?.[0] ?? 0, to?.[1] ?? 0]];
  }

  #item(): CodePoints {
    const [, code, name] = this.#take(/\\(?:x\{([\da-f]+)\}|([dDwW]))/y) ?? [];
    if (name !== undefined) return CLASSES[name] as CodePoints;
    if (code === undefined) throw new PatternError("properties of Unicode are not supported");
    const codePoint = Number.parseInt(code, 16);
    return [[codePoint, codePoint]];
  }

  /** Adds the other case of letters. Letters beyond ASCII can have several, and are refused. */
  #folded(set: CodePoints): CodePoints {
    if (!this.#ignoreCase) return set;
    const folded: CodePoints[] = [];
    for (let letter = 0x61; letter <= 0x7a; letter++) {
      const cases = [letter, letter - 0x20, ...(letter === 0x6b ? [0x212a] : letter === 0x73 ? [0x17f] : [])];
      if (cases.some((each) => hasCodePoint(set, each)))
        folded.push(...cases.map((each) => [[each, each]] as const));
    }
    if (set.some(hasOtherCase))
      throw new PatternError(
        "other letters than those of ASCII are not supported where case does not matter",
      );
    return union(set, ...folded);
  }

  #take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#re2);
    if (found === null) return undefined;
    this.#at = pattern.lastIndex;
    return found;
  }
}

/** Maximum number of characters of a range that are looked at. */
const MAX_RANGE = 256;

/** Whether letters that are not in ASCII are in a range without their other cases, as far as this is known. */
function hasOtherCase([first, last]: CodePoints[number]): boolean {
  if (last < 0x80 || (first <= 0x80 && last === 0x10ffff)) return false;
  if (last - first > MAX_RANGE) return true;
  for (let codePoint = Math.max(first, 0x80); codePoint <= last; codePoint++) {
    const character = String.fromCodePoint(codePoint);
    if (character.toLowerCase() !== character.toUpperCase()) return true;
  }
  return false;
}

class Compiler {
  readonly #instructions: Instruction[] = [];
  readonly #sets = new Set<CodePoints>();

  compile(tree: Tree): Program {
    const start = this.#add(tree, this.#push({ isMatch: true }));
    return { instructions: this.#instructions, start, sets: [...this.#sets] };
  }

  /** Returns where a part begins that continues at `next`. */
  #add(tree: Tree, next: number): number {
    if ("set" in tree) {
      this.#sets.add(tree.set);
      return this.#push({ read: tree.set, next });
    }
    if ("at" in tree) {
      if (tree.at === "boundary" || tree.at === "inside") this.#sets.add(WORD);
      return this.#push({ at: tree.at, next });
    }
    if ("all" in tree) return tree.all.reduceRight((after, part) => this.#add(part, after), next);
    if ("any" in tree) return this.#push({ either: tree.any.map((part) => this.#add(part, next)) });
    const { repeated, least, most } = tree;
    let after = next;
    if (most === Infinity) {
      const either: number[] = [next];
      after = this.#push({ either });
      either.push(this.#add(repeated, after));
    } else {
      for (let count = least; count < most; count++)
        after = this.#push({ either: [next, this.#add(repeated, after)] });
    }
    for (let count = 0; count < least; count++) after = this.#add(repeated, after);
    return after;
  }

  #push(instruction: Instruction): number {
    if (this.#instructions.length >= MAX_INSTRUCTIONS) throw new PatternError("the pattern is too large");
    return this.#instructions.push(instruction) - 1;
  }
}

/** Returns what is in one of these sets. */
function union(...sets: readonly CodePoints[]): CodePoints {
  const joined: [number, number][] = [];
  for (const [first, last] of sets.flat().sort(([one], [other]) => one - other)) {
    const before = joined.at(-1);
    if (before !== undefined && first <= before[1] + 1) before[1] = Math.max(before[1], last);
    else joined.push([first, last]);
  }
  return joined;
}

/** Returns what is not in a set. */
function complement(set: CodePoints): CodePoints {
  const others: [number, number][] = [];
  let next = 0;
  for (const [first, last] of union(set)) {
    if (first > next) others.push([next, first - 1]);
    next = last + 1;
  }
  if (next <= LAST) others.push([next, LAST]);
  return others;
}

export function hasCodePoint(set: CodePoints, codePoint: number): boolean {
  return set.some(([first, last]) => first <= codePoint && codePoint <= last);
}

/**
 * Returns a few code points that stand for all: each other one is in the same of these sets as one of them.
 */
export function representatives(sets: readonly CodePoints[]): readonly number[] {
  const ends = sets.flatMap((set) => set.flatMap(([first, last]) => [first, last + 1]));
  const printable = [0x20, 0x7f];
  const found = new Map<string, number>();
  for (const codePoint of [...PREFERRED, ...printable, 0, ...ends]) {
    if (codePoint > LAST) continue;
    const within = sets.map((set) => (hasCodePoint(set, codePoint) ? "1" : "0")).join("");
    if (!found.has(within)) found.set(within, codePoint);
  }
  return [...found.values()];
}
