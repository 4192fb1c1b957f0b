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

/**
 * A piece of a glob: a character, a set of characters, `*` (`star`), `**` (`deep`), or `**` with the slash behind it
 * (`deep-slash`), which also matches nothing.
 */
export type GlobToken =
  | { readonly kind: "character"; readonly code: number }
  | CharacterSet
  | { readonly kind: "star" | "deep" | "deep-slash" };

/** `?` or `[…]`. Never matches a slash. */
interface CharacterSet {
  readonly kind: "set";
  readonly isNegated: boolean;
  /** The first and last code of each range. */
  readonly ranges: readonly (readonly [number, number])[];
}

const ANY: CharacterSet = { kind: "set", isNegated: true, ranges: [] };

/** POSIX classes, as in `[[:digit:]]`. */
const CLASSES: Readonly<Record<string, CharacterSet["ranges"]>> = {
  alnum: ranges("09", "AZ", "az"),
  alpha: ranges("AZ", "az"),
  blank: ranges("  ", "\t\t"),
  cntrl: ranges("\0\x1f", "\x7f\x7f"),
  digit: ranges("09"),
  graph: ranges("!~"),
  lower: ranges("az"),
  print: ranges(" ~"),
  punct: ranges("!/", ":@", "[`", "{~"),
  space: ranges("  ", "\t\r"),
  upper: ranges("AZ"),
  xdigit: ranges("09", "AF", "af"),
};

function ranges(...pairs: readonly string[]): CharacterSet["ranges"] {
  return pairs.map((pair) => [pair.charCodeAt(0), pair.charCodeAt(1)]);
}

/**
 * Reads a glob as Git's `wildmatch` does, in linear time. `**` is special between slashes, and at the start and end.
 *
 * @param deepAt Another index at which `**` is special if a slash or the end is behind it.
 * @returns `undefined` if the glob matches nothing, since a set or an escape in it is not complete.
 */
export function readGlob(source: string, deepAt = 0): readonly GlobToken[] | undefined {
  const tokens: GlobToken[] = [];
  for (let at = 0; at < source.length; ) {
    const character = source[at];
    if (character === "*") {
      const start = at;
      while (source[at] === "*") at++;
      const isDeep = at - start > 1 && (start === deepAt || start === 0 || source[start - 1] === "/");
      if (isDeep && source[at] === "/") {
        // Two of them in a row match what one matches.
        if (tokens.at(-1)?.kind !== "deep-slash") tokens.push({ kind: "deep-slash" });
        at++;
      } else {
        const isLast = at === source.length || source.startsWith("\\/", at);
        tokens.push({ kind: isDeep && isLast ? "deep" : "star" });
      }
    } else if (character === "?") {
      tokens.push(ANY);
      at++;
    } else if (character === "[") {
      const found = readSet(source, at + 1);
      if (found === undefined) return undefined;
      tokens.push(found.set);
      at = found.end;
    } else {
      if (character === "\\") at++;
      const code = source.codePointAt(at);
      if (code === undefined) return undefined;
      tokens.push({ kind: "character", code });
      at += widthOf(code);
    }
  }
  return tokens;
}

/** @param start The index behind the bracket. */
function readSet(
  source: string,
  start: number,
): { readonly set: CharacterSet; readonly end: number } | undefined {
  let at = start;
  const isNegated = source[at] === "!" || source[at] === "^";
  if (isNegated) at++;
  const found: (readonly [number, number])[] = [];
  /** What a range could begin with. */
  let previous: number | undefined;
  for (let isFirst = true; isFirst || source[at] !== "]"; isFirst = false) {
    const next = source[at + 1];
    if (source[at] === "-" && previous !== undefined && next !== undefined && next !== "]") {
      const last = readCharacter(source, at + 1);
      if (last === undefined) return undefined;
      found.push([previous, last.code]);
      previous = undefined;
      at = last.end;
    } else if (source[at] === "[" && next === ":") {
      const close = source.indexOf("]", at + 2);
      if (close < 0) return undefined;
      const isClass = close > at + 2 && source[close - 1] === ":";
      if (isClass) {
        const name = source.slice(at + 2, close - 1);
        if (!Object.hasOwn(CLASSES, name)) return undefined;
        found.push(...(CLASSES[name] ?? []));
        previous = undefined;
        at = close + 1;
      } else {
        previous = 0x5b;
        found.push([previous, previous]);
        at++;
      }
    } else {
      const one = readCharacter(source, at);
      if (one === undefined) return undefined;
      previous = one.code;
      found.push([previous, previous]);
      at = one.end;
    }
  }
  return { set: { kind: "set", isNegated, ranges: found }, end: at + 1 };
}

/** Reads a character of a set, which a backslash may escape. */
function readCharacter(
  source: string,
  at: number,
): { readonly code: number; readonly end: number } | undefined {
  const start = source[at] === "\\" ? at + 1 : at;
  const code = source.codePointAt(start);
  return code === undefined ? undefined : { code, end: start + widthOf(code) };
}

function widthOf(code: number): number {
  return code > 0xffff ? 2 : 1;
}
