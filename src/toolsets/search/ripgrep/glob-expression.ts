import type { GlobToken } from "../../files/glob-tokens.ts";
import { type PathGlob, readPathGlob } from "../path-glob.ts";

/** Names for which a glob of ripgrep means the same. */
const PLAIN_NAME = /^[\w.*-]+$/;

/**
 * Returns a POSIX extended regular expression (of `sed -zE` between colons, in a UTF-8 locale) that matches all paths that a glob matches,
 * and for some sets of characters a few more.
 *
 * @param prefix What paths begin with, before what the glob is matched against.
 * @throws {ToolFailure} `validation_error` if it is not a valid glob.
 */
export function globExpression(source: string, prefix: string): string {
  const start = `^(${[...prefix].map(escaped).join("")})?`;
  const globs = readPathGlob(source).map(
    ({ tokens, isOfNames }) => `${isOfNames ? "(.*/)?" : ""}${tokens.map(written).join("")}`,
  );
  return `${start}(${globs.join("|")})$`;
}

/** Returns the options that have ripgrep read no other files, for a glob of names that it takes in the same way. */
export function nameOptions(source: string): readonly string[] {
  const names = readPathGlob(source).map(plainName);
  if (names.some((name) => name === undefined)) return [];
  return [...names.flatMap((name) => ["--type-add", `sandgate:${name}`]), "--type", "sandgate"];
}

function plainName({ tokens, isOfNames }: PathGlob): string | undefined {
  const name = tokens.map((token) => (token.kind === "character" ? String.fromCodePoint(token.code) : "*"));
  const isPlain = tokens.every(({ kind }) => kind === "character" || kind === "star");
  return isOfNames && isPlain && PLAIN_NAME.test(name.join("")) ? name.join("") : undefined;
}

function written(token: GlobToken): string {
  switch (token.kind) {
    case "character":
      return escaped(String.fromCodePoint(token.code));
    case "set":
      return "[^/]";
    case "star":
      return "[^/]*";
    case "deep":
      return ".*";
    case "deep-slash":
      return "(.*/)?";
  }
}

function escaped(character: string): string {
  if (character === ":" || character === "\n") return "[^/]";
  return /[\\^$.[\]|()?*+{}]/.test(character) ? `\\${character}` : character;
}
