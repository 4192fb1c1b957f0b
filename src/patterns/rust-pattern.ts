import { translatePattern } from "./pattern-syntax.ts";

/** A piece of a pattern in the syntax of RE2, as `translatePattern` writes it. */
const PIECE =
  /\\x\{([\da-f]+)\}|\\([dDwWbB])|(\\[pP]\{[^}]*\})|\[(\^?)((?:\\x\{[\da-f]+\}|\\[dDwW]|\\[pP]\{[^}]*\}|-)*)\]|\$|[^\\[$]+/gy;
const IN_CLASS = /\\x\{([\da-f]+)\}(?:-\\x\{([\da-f]+)\})?|\\([dDwW])|\\[pP]\{[^}]*\}|-/g;

/** ECMAScript's character classes, which are ASCII only. */
const CLASSES: Readonly<Record<string, string>> = {
  d: "0-9",
  D: "\\x{0}-\\x{2f}\\x{3a}-\\x{10ffff}",
  w: "0-9A-Za-z_",
  W: "\\x{0}-\\x{2f}\\x{3a}-\\x{40}\\x{5b}-\\x{5e}\\x{60}\\x{7b}-\\x{10ffff}",
};

/** The replacement for bytes that are not UTF-8: one for up to three of them. */
const REPLACEMENT = 0xfffd;
const NOT_UTF8 = "(?-u:[\\x80-\\xff]){1,3}";

/** A noncharacter, in the place of characters that no line has. */
const NEVER = "\\x{10ffff}";
const ANY = "\\x{0}-\\x{10ffff}";

/**
 * Translates a valid ECMAScript pattern to the syntax of Rust's `regex` crate, in which `ripgrep` takes
 * patterns, for lines of files. It matches every line that `compilePattern` matches without its line end, and
 * a few more: what it finds must be matched again. It differs from the pattern in this:
 *
 * - What matches U+FFFD matches bytes that are not UTF-8, too.
 * - `$` matches before a carriage return at the end of a line.
 * - Under `ignoreCase`, negated classes with classes in them match everything, since the engines fold them
 *   differently.
 *
 * @throws {PatternError} as `translatePattern` does.
 */
export function rustPattern(source: string, ignoreCase: boolean): string {
  const { re2 } = translatePattern(source);
  const written = re2.replace(
    PIECE,
    // biome-ignore lint/complexity/useMaxParams: `replace` passes the groups of the pattern.
    (piece, code: string | undefined, name, property, negation, inside: string | undefined) => {
      if (code !== undefined) return character(Number.parseInt(code, 16));
      if (name === "b" || name === "B") return `(?-u:\\${name})`;
      if (name !== undefined) return classOf("", `\\${name}`, ignoreCase);
      if (property !== undefined) return classOf("", property, ignoreCase);
      if (inside !== undefined) return classOf(negation, inside, ignoreCase);
      return piece === "$" ? "(?:\\r?$)" : piece;
    },
  );
  return ignoreCase ? `(?i)${written}` : written;
}

function character(code: number): string {
  // A line has no line feed, which ripgrep refuses in patterns, and a text file no NUL.
  if (code === 0x0a || code === 0) return NEVER;
  // Half a surrogate pair, which is no character of a file.
  if (code >= 0xd800 && code <= 0xdfff) return NEVER;
  const text = `\\x{${code.toString(16)}}`;
  return code === REPLACEMENT ? `(?:${text}|${NOT_UTF8})` : text;
}

function classOf(negation: string, inside: string, ignoreCase: boolean): string {
  let hasClass = false;
  let hasReplacement = false;
  const items = inside.replace(IN_CLASS, (item, first?: string, last?: string, name?: string) => {
    if (first !== undefined) {
      const [from, to] = [Number.parseInt(first, 16), Number.parseInt(last ?? first, 16)];
      hasReplacement ||= from <= REPLACEMENT && to >= REPLACEMENT;
      return writtenRange(from, to);
    }
    if (item === "-") return "\\-";
    hasClass = true;
    hasReplacement ||= name === "D" || name === "W";
    return name === undefined ? item : (CLASSES[name] ?? "");
  });
  const isAny = negation !== "" && ignoreCase && hasClass;
  const set = isAny
    ? `[${ANY}]`
    : items === ""
      ? negation === ""
        ? NEVER
        : `[${ANY}]`
      : `[${negation}${items}]`;
  // Which properties U+FFFD has is not known here.
  const matchesReplacement = isAny || inside.includes("\\p") || inside.includes("\\P");
  return matchesReplacement || hasReplacement !== (negation !== "") ? `(?:${set}|${NOT_UTF8})` : set;
}

/**
 * Half a surrogate pair cannot be the end of a range, and ripgrep refuses a class that has only a line feed. A negated
 * class matches none of them, either.
 */
function writtenRange(from: number, to: number): string {
  const parts = [
    [from, Math.min(to, 0x09)],
    [Math.max(from, 0x0b), Math.min(to, 0xd7ff)],
    [Math.max(from, 0xe000), to],
  ] as const;
  return parts
    .filter(([first, last]) => first <= last)
    .map(([first, last]) => `\\x{${first.toString(16)}}-\\x{${last.toString(16)}}`)
    .join("");
}
