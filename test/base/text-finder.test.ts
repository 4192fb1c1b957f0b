import fc from "fast-check";
import { expect, test } from "vitest";
import { TextFinder } from "../../src/base/text-finder.ts";

/** Texts of few different characters, in which parts occur often and overlap. */
const texts = (most: number) =>
  fc.array(fc.constantFrom("a", "b", "\u{1f600}"), { maxLength: most }).map((parts) => parts.join(""));

/** Stretches the texts, so that the algorithm for long texts is used. */
const stretch = (text: string): string => text.replaceAll("a", "a".repeat(201));

test("finds what String.prototype.indexOf finds", () => {
  fc.assert(
    fc.property(texts(20), texts(4), texts(4), fc.boolean(), (text, start, end, isLong) => {
      const given = [text, `${start}a${end}`];
      const [whole = "", part = ""] = isLong ? given.map(stretch) : given;
      const finder = new TextFinder(part);
      expect(finder.indexIn(whole)).toBe(whole.indexOf(part));
      const positions: number[] = [];
      for (let at = whole.indexOf(part); at >= 0; at = whole.indexOf(part, at + part.length))
        positions.push(at);
      expect([...finder.positionsIn(whole)]).toEqual(positions);
      let count = 0;
      for (let at = whole.indexOf(part); at >= 0; at = whole.indexOf(part, at + 1)) count++;
      expect(finder.countIn(whole, 10_000)).toBe(count);
      expect(finder.countIn(whole, 2)).toBe(Math.min(count, 2));
    }),
  );
});

test("takes linear time for texts for which String.prototype.indexOf takes quadratic time", () => {
  const [whole, part] = ["a".repeat(4 << 20), `ab${"a".repeat(1 << 20)}`];
  // It would take hours.
  expect(new TextFinder(part).indexIn(whole)).toBe(-1);
  expect(new TextFinder(part).indexIn(`${whole}b${whole}`)).toBe(whole.length - 1);
});
