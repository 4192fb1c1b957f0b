import fc from "fast-check";
import { expect, test } from "vitest";
import { toWellFormed, toWellFormedJson } from "../../src/json/canonical.ts";

test("replaces unpaired surrogates in values and names, at any depth", () => {
  const hostile = { "a\ud800": ["b\udc00", { c: "😀" }], d: 1, e: null };
  expect(toWellFormed(hostile)).toEqual({ "a\ufffd": ["b\ufffd", { c: "😀" }], d: 1, e: null });
});

test("returns a value without any as it is", () => {
  const value = { a: ["😀", { b: undefined }], c: new Date(0), d: () => 1 };
  expect(toWellFormed(value)).toBe(value);
});

test("adds a member named __proto__ as a member", () => {
  const copy = toWellFormed(JSON.parse('{"__proto__":{"x":"\\ud800"}}'));
  expect(JSON.stringify(copy)).toBe('{"__proto__":{"x":"\ufffd"}}');
});

test.each([
  ['{"a":"\\ud83d\\ude00"}', '{"a":"\\ud83d\\ude00"}'],
  ['{"a":"\\ud83d"}', '{"a":"\ufffd"}'],
  ['{"a":"\\ude00\\ud83d"}', '{"a":"\ufffd\ufffd"}'],
  ['{"a":"\\\\ud83d"}', '{"a":"\\\\ud83d"}'],
  ['{"a":"\\\\\\uD83D!"}', '{"a":"\\\\\ufffd!"}'],
  ['{"a":"\\ud83d\\n"', '{"a":"\ufffd\\n"'],
])("replaces unpaired surrogates in the JSON text %s, also escaped ones", (text, expected) => {
  expect(toWellFormedJson(text)).toBe(expected);
});

test("replaces every unpaired surrogate of any JSON text, and changes nothing else", () => {
  const unit = fc.constantFrom("\ud83d", "\ude00", "a", '"', "\\", "u", "d", "8", "\n");
  const value = fc.record({ text: fc.string({ unit }) });
  fc.assert(
    fc.property(value, (given) => {
      const text = JSON.stringify(given);
      expect(JSON.parse(toWellFormedJson(text))).toEqual(toWellFormed(given));
      if (given.text.isWellFormed()) expect(toWellFormedJson(text)).toBe(text);
    }),
  );
});
