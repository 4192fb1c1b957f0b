import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compileProgram } from "../../../src/patterns/automaton.ts";
import { findText } from "../../../src/patterns/find-text.ts";

/** Returns the shortest text that all of some patterns match, and none of others. */
function shortest(all: readonly string[], none: readonly string[] = [], maxLength = 100) {
  const programs = [...all, ...none].map((source) => compileProgram(source));
  return findText(
    programs,
    (matches) => {
      const answers = matches.map((match, index) =>
        index < all.length || match === undefined ? match : !match,
      );
      return answers.includes(false) ? false : answers.includes(undefined) ? undefined : true;
    },
    maxLength,
  );
}

describe("a search for a text that patterns match", () => {
  test.each<[readonly string[], string]>([
    [["^ab+c{2,4}$"], "abcc"],
    [["^$"], ""],
    [["\\Bb\\b"], "ab"],
    [["^a", "z$"], "az"],
    [["^\\S+@\\S+\\.\\w{2,}$"], "a@a.aa"],
    [["(?:x|yy)z"], "xz"],
    [["[^a-z]{2}"], "00"],
    [["^[\\w\\-\\.]$", "[^\\w]"], "-"],
    [["\\u{1F600}"], "😀"],
  ])("finds the shortest one: %s", (patterns, text) => {
    expect(shortest(patterns)).toEqual({ text });
  });

  test.each([
    [["^b$a"]],
    [["a^b"]],
    [["[]"]],
    [["a\\bb"]],
    [["\\B^a", "^a"]],
    [["^a", "^b"]],
    [["^[a-z]+$", "A"]],
    [["^.{5}$", "^.{1,4}$"]],
  ])("finds that there is none: %s", (patterns) => {
    expect(shortest(patterns)).toBe("none");
  });

  test("finds none that is longer than allowed, and texts that others do not match", () => {
    expect(shortest(["^abc"], [], 2)).toBe("none");
    expect(shortest(["^a"], ["^a$", "^ab"])).toEqual({ text: "aa" });
    expect(shortest(["^ab"], ["^a"])).toBe("none");
  });

  test("is given up where there is too much to look at", () => {
    expect(shortest(["^[ab]*a[ab]{14}$", "c"])).toBe("unknown");
  });

  test("agrees with V8's own engine for random patterns", () => {
    const atom = fc.constantFrom(
      "a",
      "b",
      ".",
      "\\d",
      "[ab]",
      "[^a]",
      "\\W",
      "(?:ab)",
      "(a|b)",
      "^",
      "$",
      "\\b",
      "\\B",
    );
    const piece = fc
      .tuple(atom, fc.constantFrom("", "", "*", "+", "?", "{2}"))
      .map(([one, times]) => (/^(?:\^|\$|\\[bB])$/.test(one) ? one : one + times));
    const pattern = fc.array(piece, { minLength: 1, maxLength: 5 }).map((parts) => parts.join(""));
    // All texts of at most four characters.
    const texts = [""];
    for (const text of texts)
      if (text.length < 4) texts.push(...["a", "b", "0", "-"].map((next) => text + next));
    let none = 0;
    fc.assert(
      fc.property(pattern, pattern, (one, other) => {
        const found = shortest([one], [other]);
        const [yes, no] = [new RegExp(one, "u"), new RegExp(other, "u")];
        if (typeof found === "object")
          expect([yes.test(found.text), no.test(found.text)]).toEqual([true, false]);
        if (found !== "none") return;
        none++;
        expect(texts.filter((text) => yes.test(text) && !no.test(text))).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
    expect(none).toBeGreaterThan(20);
  });
});
