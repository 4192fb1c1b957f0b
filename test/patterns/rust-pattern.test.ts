import { describe, expect, test } from "vitest";
import { PatternError } from "../../src/patterns/pattern-syntax.ts";
import { rustPattern } from "../../src/patterns/rust-pattern.ts";

describe("A pattern for ripgrep", () => {
  test.each([
    ["a", false, "\\x{61}"],
    ["a", true, "(?i)\\x{61}"],
    ["^a$", false, "^\\x{61}(?:\\r?$)"],
    ["\\d\\b", false, "[0-9](?-u:\\b)"],
    ["[a-f\\w]", false, "[\\x{61}-\\x{66}0-9A-Za-z_]"],
    ["(a|b){2,}?", false, "(?:\\x{61}|\\x{62}){2,}"],
    ["[^a]", false, "(?:[^\\x{61}-\\x{61}]|(?-u:[\\x80-\\xff]){1,3})"],
    ["[^\\W]", true, "(?i)(?:[\\x{0}-\\x{10ffff}]|(?-u:[\\x80-\\xff]){1,3})"],
    ["\\n", false, "\\x{10ffff}"],
    ["[\\n]", false, "\\x{10ffff}"],
    ["[^\\n]", false, "(?:[\\x{0}-\\x{10ffff}]|(?-u:[\\x80-\\xff]){1,3})"],
    ["\\ud800", false, "\\x{10ffff}"],
    ["\ufffd", false, "(?:\\x{fffd}|(?-u:[\\x80-\\xff]){1,3})"],
  ])("is %j as written in Rust's syntax (ignoring case: %s)", (source, ignoreCase, written) => {
    expect(rustPattern(source, ignoreCase)).toBe(written);
  });

  test.each(["(?=a)", "(a)\\1"])("is refused where no engine takes linear time: %s", (source) => {
    expect(() => rustPattern(source, false)).toThrow(PatternError);
  });
});
