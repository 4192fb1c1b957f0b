import fc from "fast-check";
import { describe, expect, test } from "vitest";
// Inside: a property: any glob is compared with a naive implementation and with its regular expression.
import { compileGlob, globPattern } from "../../../src/policy/match/glob.ts";

describe("a glob", () => {
  test.each([
    [
      "/data/**",
      ["/data", "/data/", "/data/a", "/data/a/b/.env", "/data/a\nb/c"],
      ["/database", "data/a", "/"],
    ],
    ["/data/*", ["/data/a", "/data/.env", "/data/a/"], ["/data", "/data/", "/data/a/b"]],
    ["**/*.csv", ["a.csv", "/a.csv", "x/y/.csv"], ["a.csv.txt", "a.tsv"]],
    ["/{a,b{c,d}}/x", ["/a/x", "/bc/x", "/bd/x"], ["/b/x", "/a/x/x"]],
    ["/[a-c][!0-9]?", ["/axy", "/c-_"], ["/dxy", "/a5y", "/ax", "/axyz"]],
    ["[[]x[]][-][(]", ["[x]-("], ["x", "[x]("]],
    ["?", ["a", "ä", "😀"], ["", "ab"]],
    ["**/a/**/b/**", ["a/b", "x/a/y/z/b/c", "/a/b"], ["a/c", "b/a"]],
  ])("the glob %s matches exactly the right texts", (pattern, matching, others) => {
    const matches = compileGlob(pattern);
    expect(matching.filter((text) => !matches(text))).toEqual([]);
    expect(others.filter(matches)).toEqual([]);
  });

  test.each([
    ["", /empty/],
    ["!/data/**", /negated/],
    ["/data/!(x)", /'\(' is not supported/],
    ["a|b", /'\|' is not supported/],
    ["a\\*b", /is not supported/],
    ["/data/**.csv", /whole segment/],
    ["/[a", /must be closed/],
    ["/[a/b]", /must be closed/],
    ["/a]", /'\]' is not supported/],
    ["{a,b", /unbalanced/],
    ["a}", /unbalanced/],
    ["{a}", /comma/],
    ["[z-a]", /out of order/],
    ["{a,b}".repeat(12), /longer than/],
  ])("the glob %j is rejected with the reason", (pattern, reason) => {
    expect(() => compileGlob(pattern)).toThrow(reason);
    expect(() => compileGlob(pattern)).toThrow(SyntaxError);
  });

  test("a glob matches the same texts as a naive implementation", () => {
    const word = fc.string({ unit: fc.constantFrom("a", "b", "."), maxLength: 3 });
    const path = fc.array(word, { minLength: 1, maxLength: 5 }).filter((segments) => segments.at(-1) !== "");
    const piece = fc.string({ unit: fc.constantFrom("a", "b", ".", "*", "?", "[ab]", "[!a]"), maxLength: 4 });
    const pattern = fc
      .array(fc.oneof(piece, fc.constant("**")), { minLength: 1, maxLength: 4 })
      .filter((segments) => segments.at(-1) !== "")
      .filter((segments) => segments.every((segment) => segment === "**" || !segment.includes("**")));
    fc.assert(
      fc.property(pattern, path, (patterns, segments) => {
        const [glob, text] = [patterns.join("/"), segments.join("/")];
        expect([glob, text, compileGlob(glob)(text)]).toEqual([
          glob,
          text,
          matchesNaively(patterns, segments),
        ]);
      }),
      { numRuns: 2_000 },
    );
  });

  test("a glob with braces matches what any of its alternatives matches", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", "/"), minLength: 1, maxLength: 5 });
    const part = fc.constantFrom("a", "b", "*", "/", "");
    fc.assert(
      fc.property(part, part, part, part, text, (before, one, other, after, path) => {
        const [first, second] = [`${before}${one}${after}`, `${before}${other}${after}`];
        fc.pre(first !== "" && second !== "" && ![first, second].some((glob) => glob.includes("**")));
        const expected = compileGlob(first)(path) || compileGlob(second)(path);
        expect(compileGlob(`${before}{${one},${other}}${after}`)(path)).toBe(expected);
      }),
    );
  });

  test("a glob is matched quickly with texts that take a regular expression hours", () => {
    expect(compileGlob("*a*a*a*a*a*a*b")("a".repeat(4_096))).toBe(false);
    expect(compileGlob("**/a/**/a/**/a/**/a/**/b")("a/".repeat(2_048))).toBe(false);
  });
});

/** A naive implementation, simple and slow. */
function matchesNaively(patterns: readonly string[], segments: readonly string[]): boolean {
  const [pattern, ...morePatterns] = patterns;
  const [segment, ...moreSegments] = segments;
  if (pattern === undefined) return segment === undefined;
  if (pattern === "**") {
    return (
      matchesNaively(morePatterns, segments) ||
      (segment !== undefined && matchesNaively(patterns, moreSegments))
    );
  }
  if (segment === undefined || (segment === "") !== (pattern === "")) return false;
  const source = pattern
    .replaceAll(".", "\\.")
    .replaceAll("?", ".")
    .replaceAll("*", ".*")
    .replaceAll("[!", "[^");
  return new RegExp(`^${source}$`, "u").test(segment) && matchesNaively(morePatterns, moreSegments);
}

describe("the regular expression of a glob", () => {
  test.each([
    ["**//", "/"],
    ["**//a", "/a"],
    ["/**//", "/"],
    ["//**", "/"],
  ])("with empty segments, such as %s, matches %s", (pattern, path) => {
    expect(compileGlob(pattern)(path)).toBe(true);
    expect(path).toMatch(new RegExp(globPattern(pattern), "u"));
  });

  test("matches the same texts", () => {
    const segment = fc.constantFrom(
      "a",
      "b*",
      "*",
      "?",
      "[ab]",
      "[!a]",
      "[+-9]",
      "**",
      "a?*",
      "{a,b/**}",
      "a.b",
      "",
    );
    const glob = fc.array(segment, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("/"));
    const text = fc
      .array(fc.constantFrom("a", "b", "ab", "a.b", "/", "/", "5", "\n"), { maxLength: 6 })
      .map((parts) => parts.join(""));
    fc.assert(
      fc.property(glob, text, (pattern, path) => {
        fc.pre(pattern !== "" && path !== "" && !path.includes("//"));
        expect(new RegExp(globPattern(pattern), "u").test(path)).toBe(compileGlob(pattern)(path));
      }),
      { numRuns: 5_000 },
    );
  });
});
