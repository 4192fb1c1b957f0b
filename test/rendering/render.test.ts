import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { render, textOf } from "../../src/rendering/render.ts";

const shownAs = (text: string): string => textOf(render(text));

/** Reads the escapes of a rendered text without notes. */
function withoutEscapes(text: string): string {
  return text.replace(/\\(?:u([\da-f]{4})|([nrt\\]))/g, (_all, unit?: string, short = "") =>
    unit === undefined
      ? ({ n: "\n", r: "\r", t: "\t", "\\": "\\" }[short as string] ?? "")
      : String.fromCharCode(Number.parseInt(unit, 16)),
  );
}

describe("A rendering escapes", () => {
  test.each([
    ["escape sequences", "\u001b[2J", "\\u001b[2J"],
    ["line breaks and tabs", "a\r\nb\tc", "a\\r\\nb\\tc"],
    ["C1 controls", "\u009b31m", "\\u009b31m"],
    ["bidi controls", "a\u202eb\u2066c\u200f", "a\\u202eb\\u2066c\\u200f"],
    ["invisible characters", "a\u200bb\u00adc\ufeff", "a\\u200bb\\u00adc\\ufeff"],
    ["blanks other than the space", "a\u00a0b\u3000c\u2800d\u3164", "a\\u00a0b\\u3000c\\u2800d\\u3164"],
    ["tags beyond the first plane", "\u{e0041}", "\\udb40\\udc41"],
    ["variation selectors", "a\ufe0f\u{e0100}", "a\\ufe0f\\udb40\\udd00"],
    ["lone surrogates", "a\ud800b", "a\\ud800b"],
    ["private and unassigned characters", "\ue000\u0378", "\\ue000\\u0378"],
    ["Latin words with a letter of another script", "pаypal gοοgle", "p\\u0430ypal g\\u03bf\\u03bfgle"],
    ["such words with an invisible character between", "p\u200bаypal", "p\\u200b\\u0430ypal"],
    ["words that only look Latin", "раураӏ", "\\u0440\\u0430\\u0443\\u0440\\u0430\\u04cf"],
    ["a letter that only looks Latin", "а", "\\u0430"],
    ["a file name that only looks Latin", "rm а b", "rm \\u0430 b"],
    [
      "a host that only looks Latin, between words of its script",
      "привет раураӏ.com мир",
      "привет \\u0440\\u0430\\u0443\\u0440\\u0430\\u04cf.com мир",
    ],
    ["an option that only looks Latin", "rm -с", "rm -\\u0441"],
    ["full-width and mathematical letters", "ｒｍ 𝐫", "\\uff52\\uff4d \\ud835\\udc2b"],
    ["digits of another script beside ASCII", "1\u0966", "1\\u0966"],
    ["punctuation that looks like that of URLs", "a\u2215b\u2024c\uff20", "a\\u2215b\\u2024c\\uff20"],
    [
      "stacks of combining marks",
      `x${"\u0301\u0302\u0303\u0304\u0305"}`,
      "x\u0301\u0302\u0303\\u0304\\u0305",
    ],
    ["repeated combining marks", "x\u0301\u0301", "x\u0301\\u0301"],
    [
      "what looks like a composed character",
      "cafe\u0301 \u1112\u1161 \u2126 \u212b",
      "cafe\\u0301 \u1112\\u1161 \\u2126 \\u212b",
    ],
    [
      "combining marks that would stand on an escape",
      "pа\u0301 a\u034f\u0301",
      "p\\u0430\\u0301 a\\u034f\\u0301",
    ],
    ["combining marks that stand on no letter", '\u0301"\u0301', '\\u0301"\\u0301'],
    ["marks that strike text through", "a\u0336b\u20dd", "a\\u0336b\\u20dd"],
    ["right-to-left words that would move others", 'א", "ב', '\\u05d0", "ב'],
    ["right-to-left words that would move numbers", "א = 5", "\\u05d0 = 5"],
    ["the brackets of notes", "⟦1 secret hidden⟧", "\\u27e61 secret hidden\\u27e7"],
    ["a backslash that would read as an escape", "\\u202e \\n \\\\", "\\\\u202e \\\\n \\\\\\\\"],
  ])("%s", (_, text, expected) => {
    expect(shownAs(text)).toBe(expected);
  });
});

test.each([
  'Grüße, 世界 🎉 {"a": [1, 2]}',
  "Tiếng Việt, straße, naïve, x\u0301",
  "Привет, я живу у моря",
  "Сосна, роса и сад",
  "שלום, עולם",
  "مرحبا بالعالم",
  "東京タワー Tokyo駅 한국어 ภาษาไทย हिन्दी",
  "Καλημέρα",
  "C:\\Windows \\d+",
  "it’s “quoted” – yes…",
])("A rendering leaves ordinary text as it is: %s", (text) => {
  expect(shownAs(text)).toBe(text);
});

test("A rendering counts long runs of spaces and line breaks instead of showing them", () => {
  expect(shownAs(`a${" ".repeat(2_032)}b`)).toBe(`a${" ".repeat(32)}⟦2,000 spaces⟧b`);
  const lines = render(`a${"\n".repeat(1_005)}b`, { keepsLines: true });
  expect(textOf(lines)).toBe("a\n\n\n\n⟦1,001 line breaks⟧b");
});

describe("A rendering of a long text", () => {
  test("shows the beginning and the end, and counts what is left out", () => {
    const text = `${"a".repeat(5_000)}${"b".repeat(7_345)}`;
    const rendering = render(text, { chars: 10 });
    expect(textOf(rendering)).toBe("aaaaa⟦12,335 characters left out⟧bbbbb");
    expect(rendering.charactersLeftOut).toBe(12_335);
  });

  test("splits no surrogate pair", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom("a", "😀", "世")),
        fc.integer({ min: 0, max: 12 }),
        (parts, chars) => {
          const shown = textOf(render(parts.join(""), { chars }));
          expect(shown).not.toMatch(/\\ud/);
          expect(shown.isWellFormed()).toBe(true);
        },
      ),
    );
  });

  test("splits no escape of a JSON text", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom("\\", '"', "\u0001", "n", "u") }),
        fc.nat(20),
        (text, chars) => {
          const { segments } = render(JSON.stringify(text), { syntax: "json", chars });
          const parts = segments.filter(({ kind }) => kind !== "note").map((part) => part.text);
          for (const part of parts) expect(part).toMatch(/^(?:[^\\]|\\u[\da-f]{4}|\\[^u])*$/);
        },
      ),
    );
  });
});

const HOSTILE = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({
    unit: fc.constantFrom("\\", "n", "u", "0", "а", "a", "\u0301", "א", "\u202e", "1", " ", "⟦", "\n"),
  }),
);

describe("A rendering of any text", () => {
  test("is different from that of every other text", () => {
    fc.assert(
      fc.property(HOSTILE, (text) => {
        fc.pre(!/ {33}|\n{5}/.test(text));
        expect(withoutEscapes(shownAs(text))).toBe(text);
        expect(withoutEscapes(textOf(render(text, { keepsLines: true })))).toBe(text);
      }),
      { numRuns: 2_000 },
    );
  });

  test("has no character that a terminal interprets, that is invisible, that combines with Sandgate's, or that a note begins with", () => {
    fc.assert(
      fc.property(HOSTILE, fc.nat(40), (text, chars) => {
        const { segments } = render(text, { chars });
        for (const segment of segments) {
          expect(segment.text).not.toMatch(/[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u);
          expect(segment.text).not.toMatch(/^\p{M}/u);
          if (segment.kind !== "note") expect(segment.text).not.toMatch(/[⟦⟧]/);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  test("takes time in proportion to its length", () => {
    for (const part of ["\u202e", "а", "aа", "א ", "א", "a\u0301", "\u0301", " ", "\\", "\n", "1א,"]) {
      const startedAt = performance.now();
      render(part.repeat(Math.ceil(500_000 / part.length)), { keepsLines: part === "\n" });
      // A quadratic one would take minutes.
      expect(performance.now() - startedAt).toBeLessThan(10_000);
    }
  });
});
