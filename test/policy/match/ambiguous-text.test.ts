import fc from "fast-check";
import { expect, test } from "vitest";
// Inside: compares the fast check with the full one; a rule shows only the result of either.
import { isAmbiguous } from "../../../src/policy/match/ambiguous-text.ts";

const pathText = fc.string({
  unit: fc.constantFrom("a", "Z", "9", "_", "-", ".", "/", "%2e", ";", "?", " ", "\\", "\0", "é"),
  maxLength: 12,
});

test("the fast check of plain paths agrees with the full check", () => {
  fc.assert(
    fc.property(pathText, (text) => {
      fc.pre(text !== "");
      // A letter outside ASCII makes a path not plain, which leads to the full check, but not ambiguous.
      const inFull = `${text}${text.endsWith("/") ? "" : "/"}é`;
      expect(isAmbiguous(text)).toBe(isAmbiguous(inFull));
    }),
    { numRuns: 2_000 },
  );
});

test.each([
  "a",
  "/a",
  "a/",
  "/data/file.tar.gz",
  "src/index.ts",
  "a-b/c_d/9",
])("the path %j is not ambiguous", (text) => {
  expect(isAmbiguous(text)).toBe(false);
});

test.each([
  "",
  ".",
  "..",
  "./a",
  "a/..",
  "a/./b",
  "/..",
  "a//b",
  "//a",
  "a/%2e%2e/b",
  "a\\b",
  "a\0",
])("the path %j is ambiguous", (text) => {
  expect(isAmbiguous(text)).toBe(true);
});
