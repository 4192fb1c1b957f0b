import fc from "fast-check";
import { expect, test } from "vitest";
import { locateSyntaxError } from "../../src/json/syntax-error.ts";

test.each<[string, "unexpected token" | "unexpected end", number]>([
  ["", "unexpected end", 0],
  ["  ", "unexpected end", 2],
  ["{", "unexpected end", 1],
  ['{"a"', "unexpected end", 4],
  ['{"a":1,}', "unexpected token", 7],
  ["[1,]", "unexpected token", 3],
  ["[1 2]", "unexpected token", 3],
  ["{a:1}", "unexpected token", 1],
  ["{'a':1}", "unexpected token", 1],
  ['"\\x"', "unexpected token", 2],
  ['"\\u12g4"', "unexpected token", 5],
  ['"a\nb"', "unexpected token", 2],
  ["tru", "unexpected end", 3],
  ["trux", "unexpected token", 3],
  ["nul]", "unexpected token", 3],
  ["-", "unexpected end", 1],
  ["-x", "unexpected token", 1],
  ["1.", "unexpected end", 2],
  ["1.x", "unexpected token", 2],
  ["1e+", "unexpected end", 3],
  ["01", "unexpected token", 1],
  ["1e5enull", "unexpected token", 3],
  ["1.5.2", "unexpected token", 3],
  ["NaN", "unexpected token", 0],
  ["[1]]", "unexpected token", 3],
  ['{"é\ud83d\ude00":x}', "unexpected token", 7],
  ["\ufeff{}", "unexpected token", 0],
])("%j: %s at position %i", (text, reason, position) => {
  expect(locateSyntaxError(text)).toEqual({ reason, position });
});

test("finds an error in exactly those texts that JSON.parse refuses", () => {
  const mutated = fc
    .tuple(
      fc.json(),
      fc.nat(),
      fc.nat(3),
      fc.constantFrom("", '"', "{", "}", "[", "]", ",", ":", "\\", "x", "1", "-", ".", "e"),
    )
    .map(([text, at, cut, insert]) => {
      const start = at % (text.length + 1);
      return text.slice(0, start) + insert + text.slice(start + cut);
    });
  fc.assert(
    fc.property(fc.oneof(mutated, fc.string({ unit: "binary" })), (text) => {
      let parses = true;
      try {
        JSON.parse(text);
      } catch {
        parses = false;
      }
      const error = locateSyntaxError(text);
      expect(error === undefined).toBe(parses);
      if (error?.reason === "unexpected end") expect(error.position).toBe(text.length);
      if (error?.reason === "unexpected token") {
        expect(error.position).toBeLessThan(text.length);
        // The text before the error is a prefix of some JSON text: cut there, only the end is unexpected.
        const before = locateSyntaxError(text.slice(0, error.position));
        expect(before?.reason ?? "unexpected end").toBe("unexpected end");
      }
    }),
    { numRuns: 3_000 },
  );
});

test("handles a text of any depth", () => {
  expect(locateSyntaxError("[".repeat(1e6))).toEqual({ reason: "unexpected end", position: 1e6 });
});
