/** A class of characters, or an escape: what is in them is no syntax of other kinds. */
const ESCAPE_OR_CLASS = /\\[\s\S]|\[\^?\]?(?:\\[\s\S]|\[:\^?\w+:\]|[^\]\\])*\]/g;

/**
 * What models write in the syntax of ripgrep, PCRE, Python or Perl, and what to write instead. The first that a pattern has is named.
 * Some of it is valid in ECMAScript, where it matches something else: a pattern is matched against single lines, and `\\A` is an A.
 */
const FOREIGN: readonly (readonly [syntax: RegExp, next: string])[] = [
  [
    /^\(\?[imsxuU-]*i[imsxuU-]*\)/,
    "Inline flags such as (?i) are not supported: leave it out, and set ignoreCase to true.",
  ],
  [
    /\(\?[imsxuUaL]*-?[imsxuUaL]+[):]/,
    "Inline flags are not supported: leave them out. ignoreCase: true takes upper and lower case as the same, and each line is matched on its own.",
  ],
  [/\(\?P<(\w+)>/, "Write named groups as (?<name>…), or as (?:…), since nothing refers to them."],
  [
    /\(\?P[=>]|\(\?(?:R|&|\d)|\\g[<{\d]|\\k<|\\[1-9]/,
    "Back-references and recursion are not supported: write the text out, or search for a part of it.",
  ],
  [
    /\(\?<[=!]/,
    "Lookbehind is not supported: search for the whole text, with what comes before it, and look at the lines.",
  ],
  [
    /\(\?[=!]/,
    "Lookahead is not supported: search for the whole text, with what comes after it, and look at the lines.",
  ],
  [
    /\(\?>|(?:[*+?]|\{\d+(?:,\d*)?\})\+/,
    "Possessive quantifiers and atomic groups are not supported: write the quantifier without the second +, and (?:…) for (?>…). Matching takes linear time anyway.",
  ],
  [/\(\?#/, "Comments are not supported: leave (?#…) out."],
  [/\(\?\(/, "Conditions in patterns are not supported: write alternatives as (?:a|b)."],
  [/\\A/, "\\A is not supported: write ^, as each line is matched on its own."],
  [/\\[zZ]/, "\\z and \\Z are not supported: write $, as each line is matched on its own."],
  [/\\G/, "\\G is not supported: leave it out."],
  [
    /\\[nR]|\n/,
    "A pattern is matched against each line on its own, so that nothing matches a line break: search for one of the lines, and set context to see those around it.",
  ],
  [/\\h/, "\\h is not supported: write [ \\t] for blanks, or [0-9a-fA-F] for hexadecimal digits."],
  [/\\[QE]/, "\\Q…\\E is not supported: put a backslash before each special character."],
  [/\\[KXCN]/, "\\K, \\X, \\C and \\N are not supported: leave \\K out, and write . for one character."],
  [/\\[ae](?![a-z])/, "\\a and \\e are not supported: write \\x07 and \\x1b."],
];

const POSIX: Readonly<Record<string, string>> = {
  alpha: "A-Za-z",
  digit: "0-9",
  alnum: "A-Za-z0-9",
  upper: "A-Z",
  lower: "a-z",
  space: "\\s",
  blank: " \\t",
  punct: "!-/:-@\\[-`{-~",
  word: "\\w",
  xdigit: "0-9A-Fa-f",
  cntrl: "\\x00-\\x1f\\x7f",
  print: " -~",
  graph: "!-~",
};

/** Says what to write in place of syntax that patterns here do not have; `undefined` if a pattern has none that is known. */
export function foreignSyntax(pattern: string): string | undefined {
  const [, negation = "", name = ""] = /\[[^\]]*\[:(\^?)(\w+):\]/.exec(pattern) ?? [];
  const posix = Object.hasOwn(POSIX, name) ? POSIX[name] : undefined;
  if (posix !== undefined) {
    const written = negation === "" ? `[${posix}]` : `[^${posix}]`;
    return `Classes such as [[:${negation}${name}:]] are not supported: write ${written}.`;
  }
  // Escapes stay, without those of backslashes; of classes, only the escapes of line breaks mean the same outside.
  const outside = pattern.replace(ESCAPE_OR_CLASS, (part) => {
    if (part.startsWith("[")) return "[]";
    return /^\\\w/.test(part) ? part : "_";
  });
  return FOREIGN.find(([syntax]) => syntax.test(outside))?.[1];
}
