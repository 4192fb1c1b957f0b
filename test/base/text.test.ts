import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { expect, test } from "vitest";
import { beginning, ending, wellFormed } from "../../src/base/text.ts";
import { shorten } from "../../src/sandboxes/contract/failure.ts";

test("A cut never splits a surrogate pair", () => {
  expect([beginning("a\u{1f600}b", 2), ending("a\u{1f600}b", 2)]).toEqual(["a", "b"]);
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.nat(40), (text, length) => {
      for (const cut of [beginning(text, length), ending(text, length)]) {
        expect(cut.isWellFormed()).toBe(true);
        expect(cut.length).toBeLessThanOrEqual(length);
        expect(cut.length).toBeGreaterThanOrEqual(Math.min(length, text.length) - 1);
      }
      expect(text.startsWith(beginning(text, length)) && text.endsWith(ending(text, length))).toBe(true);
    }),
  );
});

test("A text with half a surrogate pair gets a replacement character", () => {
  expect([wellFormed("a\ud800"), wellFormed("\u{1f600}")]).toEqual(["a\ufffd", "\u{1f600}"]);
});

test("A part does not keep the text in memory of which it was cut", () => {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as () => void;
  const long = (): string => Buffer.alloc(1_048_576, "x").toString();
  const used = (): number => {
    gc();
    return process.memoryUsage().heapUsed;
  };
  const before = used();
  const parts = Array.from({ length: 100 }, () => [
    beginning(long(), 2_000),
    ending(long(), 2_000),
    shorten(long(), 2_000),
  ]);
  expect(used() - before).toBeLessThan(20 * 1_048_576);
  expect(parts.flat().every((part) => part.length <= 2_000)).toBe(true);
});
