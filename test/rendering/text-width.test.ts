import fc from "fast-check";
import { expect, test } from "vitest";
import { fitText, textWidth, wrapText } from "../../src/rendering/lines.ts";

test.each([
  ["plain", 5],
  ["Grüße", 5],
  ["世界", 4],
  ["🎉", 2],
  ["e\u0301", 1],
  ["한국어", 6],
])("counts the columns of %s", (text, columns) => {
  expect(textWidth(text)).toBe(columns);
});

test("pads a text, or cuts its middle out", () => {
  expect(fitText("abc", 5)).toBe("abc  ");
  expect(fitText("abcdef", 5)).toBe("ab…ef");
  expect(fitText("世界世界", 6)).toBe("世…界 ");
});

test("makes any text exactly as wide as requested", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.integer({ min: 1, max: 40 }), (text, columns) => {
      expect(textWidth(fitText(text, columns))).toBe(columns);
    }),
  );
});

test("wraps any text into rows of at most so many columns", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.integer({ min: 2, max: 40 }), (text, columns) => {
      const rows = wrapText(text, columns);
      expect(rows.join("")).toBe(text);
      for (const row of rows) expect(textWidth(row)).toBeLessThanOrEqual(columns);
    }),
  );
});
