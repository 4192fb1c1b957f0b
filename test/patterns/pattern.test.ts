import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compilePattern } from "../../src/patterns/pattern.ts";
import { translatePattern } from "../../src/patterns/pattern-syntax.ts";

describe("a pattern", () => {
  test.each<[string, readonly string[], readonly string[]]>([
    ["^#W[0-9]{7}$", ["#W1234567"], ["#W123456", "x#W1234567"]],
    ["foo", ["a foo b"], ["fo"]],
    ["^\\S+@\\S+\\.\\w{2,}$", ["me@example.org"], ["me @example.org", "me@x"]],
    ["^\\s$", [" ", "\u00a0", "\u2003", "\ufeff", "\v"], ["x", "\u200b"]],
    ["^[^\\s,]+$", ["ab"], ["a b", "a,b", "a\u00a0b"]],
    ["^[\\S]$", ["x"], ["\u3000"]],
    ["^.$", ["x", "😀"], ["\n", "\u2028", "xy"]],
    ["^\\p{Letter}+$", ["π"], ["1"]],
    ["^\\p{Script=Greek}$", ["π"], ["p"]],
    ["^\\u{1F600}$", ["😀"], ["x"]],
    ["^\\ud83d\\ude00$", ["😀"], ["x"]],
    ["^[a\\-z]$", ["-", "a"], ["b"]],
    ["^[\\w\\-\\.]+$", ["a-b.c"], ["a b"]],
    ["^[[:alpha:]]$", ["a]", ":]"], ["b", "a"]],
    ["^[\\b]$", ["\b"], ["b"]],
    ["\\bfoo\\b", ["a foo"], ["afoo"]],
    ["^(?:a|b)+?$", ["abab"], ["abc"]],
    ["^(?<year>\\d{4})-\\d{2}$", ["2026-11"], ["26-11"]],
    ["^[^]$", ["\n", "x"], ["xy"]],
    ["[]", [], ["", "x"]],
    ["^a/b\\/c$", ["a/b/c"], ["a/bc"]],
    ["^\\cJ\\x41\\0$", ["\nA\0"], ["JA0"]],
    ["^{a}$", ["{a}"], ["a"]],
  ])("%s matches the same texts as in ECMAScript", (source, yes, no) => {
    const pattern = compilePattern(source);
    for (const text of yes) expect([text, pattern.test(text)]).toEqual([text, true]);
    for (const text of no) expect([text, pattern.test(text)]).toEqual([text, false]);
  });

  test("agrees with V8's own engine for random patterns", () => {
    const atom = fc.constantFrom(
      "a",
      "b",
      ".",
      "\\d",
      "\\s",
      "\\S",
      "[ab]",
      "[^a\\s]",
      "\\W",
      "é",
      "(?:ab)",
      "(a|b)",
    );
    const piece = fc
      .tuple(atom, fc.constantFrom("", "*", "+", "?", "{2}", "{1,3}", "*?"))
      .map((parts) => parts.join(""));
    const source = fc
      .tuple(
        fc.constantFrom("", "^"),
        fc.array(piece, { minLength: 1, maxLength: 4 }),
        fc.constantFrom("", "$", "|b"),
      )
      .map(([start, pieces, end]) => start + pieces.join("") + end);
    const text = fc.string({
      unit: fc.constantFrom("a", "b", "1", " ", "é", "\u00a0", "\n", "😀"),
      maxLength: 8,
    });
    fc.assert(
      fc.property(source, text, (pattern, candidate) => {
        // With `u`, V8 14.6 is wrong about characters beyond U+FFFF before `$`; with `v` it is right.
        expect(compilePattern(pattern).test(candidate)).toBe(new RegExp(pattern, "v").test(candidate));
      }),
      { numRuns: 500 },
    );
  });

  test.each(["b+", "^a?b", "(?:b|c)d", "x"])("finds where %s matches first, as ECMAScript does", (source) => {
    for (const text of ["abbcd", "bcd", "é😀abd", ""]) {
      expect(compilePattern(source).search(text)).toBe(text.search(new RegExp(source, "u")));
    }
  });

  test("runs in V8's own engine only if that takes linear time", () => {
    const isSimple = (source: string): boolean => translatePattern(source).retried !== undefined;
    expect(["^[a-z]+$", "^\\d{4}-\\d{2}$", "^a*b", "^$"].filter(isSimple)).toHaveLength(4);
    expect(["a+", "^a*a*$", "^(a)$", "^a|b", "^a?b?"].filter(isSimple)).toEqual([]);
  });
});
