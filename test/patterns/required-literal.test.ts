import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { requiredLiteral } from "../../src/patterns/find-text.ts";

describe("The text that a pattern requires", () => {
  test.each([
    ["needle_[0-9]+", "needle_"],
    ["^a\\.b$", "a.b"],
    ["ab*cde?f", "cd"],
    ["ab+c", "ab"],
    ["(abc)de", "de"],
    ["ab{0}", "a"],
    ["[abc]d", "d"],
    ["x\\u0041y", "x"],
    ["\\bword\\b", "word"],
    ["foo|bar", undefined],
    ["(foo|bar)baz", undefined],
    ["\\d+", undefined],
    ["", undefined],
  ])("of %s is %s", (source, literal) => {
    expect(requiredLiteral(source)).toBe(literal);
  });

  test("is in every text that the pattern matches", () => {
    const piece = fc.constantFrom(
      "a",
      "b",
      "ab",
      "é",
      "😀",
      "\\.",
      "\\d",
      "[ab]",
      "(ab)",
      "(?:a(b))",
      "\\x61",
      "\\u{62}",
      "\\\\",
      ".",
      "\\b",
      "[(]",
      "[\\]a]",
    );
    const times = fc.constantFrom("", "", "", "*", "+", "?", "{2}", "{0,1}", "*?");
    const pattern = fc
      .array(fc.tuple(piece, times), { minLength: 1, maxLength: 5 })
      .map((parts) => parts.map(([each, count]) => (each === "\\b" ? each : each + count)).join(""));
    const text = fc.array(fc.constantFrom("a", "b", "é", "😀", ".", "1", "\\", "(", "]"), { maxLength: 8 });
    fc.assert(
      fc.property(pattern, text, (source, characters) => {
        const searched = characters.join("");
        const literal = requiredLiteral(source);
        fc.pre(literal !== undefined && new RegExp(source, "u").test(searched));
        expect(searched).toContain(literal);
      }),
      { numRuns: 2_000, maxSkipsPerRun: 1_000 },
    );
  });
});
