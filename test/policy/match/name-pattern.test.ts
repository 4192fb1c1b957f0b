import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  compileNamePattern,
  escapeName,
  isWithinNamePattern,
  NAME_PATTERN,
} from "../../../src/policy/match/name-pattern.ts";

const isPattern = (text: string): boolean => new RegExp(NAME_PATTERN, "u").test(text);

describe("a pattern of tool names", () => {
  test.each([
    "math.factorial",
    "fs/read",
    "größe",
    "工具",
    "a:b@c",
    "mcp__server__tool",
    "🔧",
  ])("a pattern can name the tool %s", (name) => {
    expect(isPattern(name)).toBe(true);
    expect(compileNamePattern(name)).toMatchObject({ literal: name });
    expect(compileNamePattern(name).matches(name)).toBe(true);
    expect(compileNamePattern(`${name.slice(0, 1)}*`).matches(`${name.slice(0, 1)}_b`)).toBe(true);
  });

  test("a star at the end matches every name that begins like the pattern, by whole characters", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", "*", "\\", "ß", "\ud83d\udd27", "\ud83d") });
    fc.assert(
      fc.property(text, text, (prefix, name) => {
        const [begin, whole] = [Array.from(prefix), Array.from(name)];
        const isMatch = begin.every((character, index) => whole[index] === character);
        expect(compileNamePattern(`${escapeName(prefix)}*`).matches(name)).toBe(isMatch);
        // The same pattern in the general way.
        expect(compileNamePattern(`${escapeName(prefix)}**`).matches(name)).toBe(isMatch);
      }),
    );
    expect(compileNamePattern("*").matches("")).toBe(true);
  });

  test("an escaped star or backslash is that character", () => {
    expect(compileNamePattern("a\\*").literal).toBe("a*");
    expect(compileNamePattern("a\\*").matches("ab")).toBe(false);
    expect(compileNamePattern("a\\\\*").matches("a\\b")).toBe(true);
    expect(compileNamePattern("a\\\\*").matches("a*")).toBe(false);
    expect(compileNamePattern("\\**").matches("*anything")).toBe(true);
    expect(compileNamePattern("\\**").matches("anything")).toBe(false);
  });

  test.each([
    "",
    "read file",
    "a\\b",
    "a\\",
    "tab\t",
    "zero\u200bwidth",
    "x".repeat(257),
  ])("%j is not a pattern", (text) => expect(isPattern(text)).toBe(false));

  const name = fc.string({ unit: fc.constantFrom("a", "b", "*", "\\"), maxLength: 5 });
  const pattern = fc
    .array(fc.constantFrom("a", "b", "*", "\\*", "\\\\"), { maxLength: 5 })
    .map((parts) => parts.join(""));

  test("the escaped name of any tool matches that tool only", () => {
    fc.assert(
      fc.property(name, name, (own, other) => {
        const escaped = compileNamePattern(own.replace(/[*\\]/g, "\\$&"));
        expect(escaped.literal).toBe(own);
        expect(escaped.matches(other)).toBe(own === other);
      }),
    );
  });

  test("a pattern within another one matches no name that the other does not match", () => {
    fc.assert(
      fc.property(pattern, pattern, name, (inner, outer, own) => {
        if (!isWithinNamePattern(inner, outer)) return;
        if (compileNamePattern(inner).matches(own)) expect(compileNamePattern(outer).matches(own)).toBe(true);
      }),
      { numRuns: 1_000 },
    );
    expect(isWithinNamePattern("read_\\*", "read_*")).toBe(true);
    expect(isWithinNamePattern("read_*", "read_\\*")).toBe(false);
    expect(isWithinNamePattern("read_*", "*")).toBe(true);
  });
});
