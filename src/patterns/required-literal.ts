/** A character that stands for itself, or an escape that does. */
const CHARACTER = /^(?:[^\\^$.*+?()[\]{}|\ufffd]|\\[\\^$.*+?()[\]{}|/-])$/u;
const PIECE =
  /\\u\{[^}]*\}|\\u[\da-fA-F]{4}|\\x[\da-fA-F]{2}|\\[pP]\{[^}]*\}|\\c[A-Za-z]|\\.|\[(?:\\.|[^\]\\])*\]|./gsu;

/**
 * Returns a text that is in every text that a pattern matches: the longest that is easily found. Patterns with alternatives
 * have none, and what is in groups is not looked at.
 *
 * @param source A valid ECMAScript pattern that tells upper from lower case.
 */
export function requiredLiteral(source: string): string | undefined {
  let longest = "";
  let run: string[] = [];
  let depth = 0;
  const end = (): void => {
    if (run.join("").length > longest.length) longest = run.join("");
    run = [];
  };
  for (const [piece] of source.matchAll(PIECE)) {
    if (piece === "|") return undefined;
    if (piece === "(") depth++;
    else if (piece === ")") depth--;
    if (depth === 0 && CHARACTER.test(piece)) {
      run.push(piece.startsWith("\\") ? piece.slice(1) : piece);
      continue;
    }
    // What is before these may be missing, or is repeated.
    if (piece === "*" || piece === "?" || piece === "{") run.pop();
    end();
    // What follows may be the digits of a quantifier.
    if (piece === "{") break;
  }
  end();
  return longest === "" ? undefined : longest;
}
