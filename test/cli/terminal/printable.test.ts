import fc from "fast-check";
import { expect, test } from "vitest";
import { toPrintable, toPrintableJson } from "../../../src/cli/terminal/printable.ts";

test.each([
  ["escape sequences", "\u001b[2J", "\\u001b[2J"],
  ["line breaks and tabs", "a\r\nb\tc", "a\\r\\nb\\tc"],
  ["C1 controls", "\u009b31m", "\\u009b31m"],
  ["bidi controls", "a\u202eb\u2066c", "a\\u202eb\\u2066c"],
  ["invisible characters", "a\u200bb\u00adc\ufeff", "a\\u200bb\\u00adc\\ufeff"],
  ["tags beyond the first plane", "\u{e0041}", "\\udb40\\udc41"],
  ["variation selectors", "a\ufe0f", "a\\ufe0f"],
  ["lone surrogates", "a\ud800b", "a\\ud800b"],
])("escapes %s", (_, text, expected) => {
  expect(toPrintable(text)).toBe(expected);
});

test("does not change printable text", () => {
  const text = 'Grüße, 世界 🎉 {"a": [1, "\\n"]}';
  expect(toPrintable(text)).toBe(text);
});

test("serialises any value as JSON without unprintable characters", () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: "binary" }), (value) => {
      const text = toPrintableJson(value);
      expect(toPrintable(text.replaceAll("\n", ""))).toBe(text.replaceAll("\n", ""));
      expect(JSON.stringify(JSON.parse(text))).toBe(JSON.stringify(value));
    }),
  );
});
