import { describe, expect, test } from "vitest";
import { ToolFailure } from "../../../src/tool/tool-failure.ts";
// Inside: tries one pattern after the other, without files to search.
import { LinePattern } from "../../../src/toolsets/search/line-pattern.ts";

/** Returns what the model reads of a pattern that is refused. */
function refusalOf(pattern: string): string {
  try {
    new LinePattern(pattern, false);
  } catch (error) {
    if (error instanceof ToolFailure) return error.message;
    throw error;
  }
  return "";
}

describe("a pattern in the syntax of another program is refused with what to write instead", () => {
  test.each([
    ["(?i)todo", "set ignoreCase to true"],
    ["(?im)todo", "set ignoreCase to true"],
    ["(?s).*", "Inline flags are not supported"],
    ["(?i:todo)", "Inline flags are not supported"],
    ["(?P<name>a)", "(?<name>…)"],
    ["a(?P=name)", "Back-references"],
    ["(a)\\1", "Back-references"],
    ["\\Aimport", "write ^"],
    ["end\\Z", "write $"],
    ["end\\z", "write $"],
    ["a++b", "Possessive"],
    ["a{2,}+", "Possessive"],
    ["(?>a)", "(?:…) for (?>…)"],
    ["(?<=a)b", "Lookbehind"],
    ["(?<!a)b", "Lookbehind"],
    ["a(?=b)", "Lookahead"],
    ["a(?!b)", "Lookahead"],
    ["[[:alpha:]]+", "write [A-Za-z]"],
    ["[[:^digit:]]", "write [^0-9]"],
    ["x[[:space:]]", "write [\\s]"],
    ["foo\\nbar", "set context"],
    ["foo\nbar", "set context"],
    ["foo\\Rbar", "set context"],
    ["\\Qa.b\\E", "put a backslash before each special character"],
    ["a\\Kb", "leave \\K out"],
    ["\\hfoo", "[ \\t]"],
    ["(?#note)a", "leave (?#…) out"],
    ["(a|b", "escape special characters"],
  ])("%j", (pattern, next) => {
    expect(refusalOf(pattern)).toMatch(/^Invalid pattern: /);
    expect(refusalOf(pattern)).toContain(next);
  });

  test("what only looks like it is accepted", () => {
    const patterns = [
      "\\(\\?i\\)",
      "\\++",
      "\\*+",
      "[+*]+",
      "[(?i)]",
      "a\\\\Ab",
      "(?:a)",
      "(?<n>a)",
      "[^\\n]*",
      "[:alpha:]",
      "x\\[:digit:",
    ];
    for (const pattern of patterns) expect(refusalOf(pattern)).toBe("");
  });
});
