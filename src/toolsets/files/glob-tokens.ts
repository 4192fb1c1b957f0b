/**
 * A piece of a glob: a character, a set of characters, `*` (`star`), `**` (`deep`), or `**` with the slash behind it
 * (`deep-slash`), which also matches nothing.
 */
export type GlobToken =
  | { readonly kind: "character"; readonly code: number }
  | CharacterSet
  | { readonly kind: "star" | "deep" | "deep-slash" };

/** `?` or `[…]`. Never matches a slash. */
export interface CharacterSet {
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
