import {
  type CharacterClass,
  matchesSequence,
  matchesWildcard,
  STAR,
  type Token,
  type Wildcard,
} from "./name-pattern.ts";

/** Any number of path segments, including none. */
const GLOBSTAR: unique symbol = Symbol("**");
type Segment = Wildcard | typeof GLOBSTAR;

/** Total length of all alternatives of a pattern, in characters. Bounds the time of a match. */
const MAX_EXPANDED_LENGTH = 4_096;

/**
 * Compiles a glob for paths. `*` and `?` match characters within a segment, including dots; `[a-z]` and
 * `[!a-z]` match one character, `{a,b}` matches either alternative, and a segment `**` matches any number of
 * segments: `/data/**` matches `/data` and everything below it. A trailing slash is ignored. Matching is
 * case-sensitive. A special character in brackets matches itself: `[(]`.
 *
 * Implementations that use regular expressions do not withstand hostile texts: picomatch takes half a minute
 * for `*a*a*a*b` on a thousand characters, and its `**` does not match newlines.
 *
 * @throws {SyntaxError} for unsupported or malformed patterns: with `( ) | \`, with a leading `!`, with `**`
 *   beside other characters, with unclosed brackets or braces, or longer than 4,096 characters.
 */
export function compileGlob(pattern: string): (text: string) => boolean {
  if (pattern === "") throw new SyntaxError("a glob must not be empty");
  if (pattern.startsWith("!")) throw new SyntaxError("a glob cannot be negated: write a 'deny' rule instead");
  const alternatives = expandBraces(pattern).map(compileAlternative);
  return (text) => {
    const segments = segmentsOf(text);
    return alternatives.some((alternative) =>
      matchesSequence(alternative, segments, isGlobstar, matchesSegment),
    );
  };
}

/**
 * Returns a regular expression that is equivalent to a valid glob, for texts that are not empty and have no
 * empty segments.
 */
export function globPattern(glob: string): string {
  const alternatives = expandBraces(glob).map(compileAlternative).map(patternOfSegments);
  return `^(?:${alternatives.join("|")})/?$`;
}

function patternOfSegments(all: readonly Segment[]): string {
  const once = all.filter((segment, index) => !isGlobstar(segment) || all[index - 1] !== segment);
  // The empty segments of a text are the first one of an absolute path, and both of the root.
  const segments = isGlobstar(once[0] as Segment) && once[1] === "" ? once.slice(1) : once;
  if (segments.indexOf("", 1) >= 0) {
    const others = segments.filter((segment) => !isGlobstar(segment));
    return others.length === 2 && others.every((segment) => segment === "") ? "/" : "[]";
  }
  return segments
    .map((segment, index) => {
      const next = segments[index + 1];
      const isBeforeLast = index === segments.length - 2;
      if (segment !== GLOBSTAR) {
        const hasSlash = next !== undefined && !(isBeforeLast && next === GLOBSTAR);
        return `${patternOf(segment)}${hasSlash ? "/" : ""}`;
      }
      if (next !== undefined) return "(?:[^/]*/)*";
      return index === 0 ? "[^]*" : "(?:/[^/]*)*";
    })
    .join("");
}

function patternOf(segment: Wildcard): string {
  const tokens = [...segment];
  const pattern = tokens.map((token) => {
    if (token === STAR) return "[^/]*";
    return typeof token === "string" ? escaped(token) : token.pattern;
  });
  // No wildcard matches an empty segment.
  return tokens.length > 0 && tokens.every((token) => token === STAR) ? "[^/]+" : pattern.join("");
}

function escaped(character: string): string {
  return `\\u{${character.codePointAt(0)?.toString(16)}}`;
}

/** The last text is cached, since several rules often match the same argument. */
let lastSplit: { readonly text: string; readonly segments: readonly string[] } = { text: "", segments: [""] };

function segmentsOf(text: string): readonly string[] {
  if (text !== lastSplit.text) lastSplit = { text, segments: splitPath(text) };
  return lastSplit.segments;
}

function splitPath(path: string): string[] {
  return (path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path).split("/");
}

function isGlobstar(segment: Segment): boolean {
  return segment === GLOBSTAR;
}

function matchesSegment(segment: Segment, text: string): boolean {
  // The segment before the first slash of an absolute path is empty, and no wildcard matches it.
  if (text === "" && segment !== "") return false;
  return matchesWildcard(segment as Wildcard, text);
}

/** Expands `a{b,c}` to `ab` and `ac`, outermost braces first. */
function expandBraces(pattern: string): string[] {
  const done: string[] = [];
  const waiting = [pattern];
  let length = 0;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    length += next.length;
    if (length > MAX_EXPANDED_LENGTH)
      throw new SyntaxError(
        `a glob must not be longer than ${MAX_EXPANDED_LENGTH} characters, with its braces expanded`,
      );
    const parts = splitBraces(next);
    if (parts === undefined) done.push(next);
    else for (const choice of parts.choices) waiting.push(`${parts.before}${choice}${parts.after}`);
  }
  return done;
}

interface Braces {
  readonly before: string;
  readonly choices: readonly string[];
  readonly after: string;
}

/** Returns the first pair of braces outside brackets, or `undefined`. */
function splitBraces(pattern: string): Braces | undefined {
  const choices: string[] = [];
  let start = -1;
  let choiceAt = 0;
  let depth = 0;
  for (let i = 0; i < pattern.length; i++) {
    const character = pattern[i];
    if (character === "[") i = endOfClass(pattern, i);
    else if (character === "{" && depth++ === 0) [start, choiceAt] = [i, i + 1];
    else if (character === "," && depth === 1) {
      choices.push(pattern.slice(choiceAt, i));
      choiceAt = i + 1;
    } else if (character === "}" && --depth === 0) {
      choices.push(pattern.slice(choiceAt, i));
      if (choices.length === 1) throw new SyntaxError("braces in a glob must contain a comma, as in '{a,b}'");
      return { before: pattern.slice(0, start), choices, after: pattern.slice(i + 1) };
    }
    if (depth < 0) break;
  }
  if (depth !== 0) throw new SyntaxError("a glob has unbalanced braces");
  return undefined;
}

function compileAlternative(pattern: string): Segment[] {
  return splitPath(pattern).map((segment) => {
    if (segment === "**") return GLOBSTAR;
    if (segment.includes("**"))
      throw new SyntaxError("'**' must be a whole segment of a glob, as in '**/*.csv'");
    return compileSegment(segment);
  });
}

function compileSegment(segment: string): Wildcard {
  const tokens: Token[] = [];
  for (let i = 0; i < segment.length; i++) {
    const character = String.fromCodePoint(segment.codePointAt(i) as number);
    if (character === "*") tokens.push(STAR);
    else if (character === "?") tokens.push(ANY);
    else if (character === "[") {
      const end = endOfClass(segment, i);
      tokens.push(compileClass(segment.slice(i + 1, end)));
      i = end;
    } else if ("()|\\]".includes(character)) {
      throw new SyntaxError(
        `'${character}' is not supported in a glob: write '[${character}]' to match the character`,
      );
    } else {
      tokens.push(character);
      i += character.length - 1;
    }
  }
  return tokens.every((token) => typeof token === "string") ? tokens.join("") : tokens;
}

const ANY: CharacterClass = { pattern: "[^/]", matches: () => true };

/** Returns the index of the bracket that closes a class. The first character of a class cannot close it. */
function endOfClass(pattern: string, start: number): number {
  const first = start + (pattern[start + 1] === "!" || pattern[start + 1] === "^" ? 2 : 1);
  const end = pattern.indexOf("]", first + 1);
  const slash = pattern.indexOf("/", start);
  if (end < 0 || (slash >= 0 && slash < end))
    throw new SyntaxError("a '[' in a glob must be closed in the same segment");
  return end;
}

function compileClass(content: string): CharacterClass {
  const isNegated = content.startsWith("!") || content.startsWith("^");
  const characters = [...(isNegated ? content.slice(1) : content)];
  const singles = new Set<string>();
  const ranges: [number, number][] = [];
  for (let i = 0; i < characters.length; i++) {
    const [from = "", dash, to] = characters.slice(i, i + 3);
    if (dash !== "-" || to === undefined) {
      singles.add(from);
      continue;
    }
    const range: [number, number] = [from.codePointAt(0) ?? 0, to.codePointAt(0) ?? 0];
    if (range[0] > range[1]) throw new SyntaxError(`the range '${from}-${to}' in a glob is out of order`);
    ranges.push(range);
    i += 2;
  }
  return {
    pattern: classPattern(isNegated, [...singles], ranges),
    matches(character) {
      const code = character.codePointAt(0) ?? 0;
      const isIn = singles.has(character) || ranges.some(([from, to]) => from <= code && code <= to);
      return isIn !== isNegated;
    },
  };
}

const SLASH = 0x2f;

function classPattern(
  isNegated: boolean,
  singles: readonly string[],
  ranges: readonly (readonly [from: number, to: number])[],
): string {
  const written = (from: number, to: number): string =>
    from > to ? "" : `\\u{${from.toString(16)}}-\\u{${to.toString(16)}}`;
  const items = ranges.map(([from, to]) =>
    from <= SLASH && SLASH <= to ? written(from, SLASH - 1) + written(SLASH + 1, to) : written(from, to),
  );
  return `[${isNegated ? "^/" : ""}${singles.map(escaped).join("")}${items.join("")}]`;
}
