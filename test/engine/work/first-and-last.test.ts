import fc from "fast-check";
import { describe, expect, test } from "vitest";
// Inside: tries many sizes of room; an execution has only those of its report.
import { FirstAndLast } from "../../../src/engine/work-report.ts";

const lengthOf = (text: string): number => text.length;

function keeping(texts: readonly string[], first: number, last: number): FirstAndLast<string> {
  const kept = new FirstAndLast<string>(first, last, lengthOf);
  for (const text of texts) kept.add(text);
  return kept;
}

describe("FirstAndLast", () => {
  test("keeps everything as long as there is room", () => {
    const { items, omitted } = keeping(["a", "bb", "c", "d"], 3, 2);
    expect({ items, omitted }).toEqual({ items: ["a", "bb", "c", "d"], omitted: 0 });
  });

  test("leaves out those between the first and the last ones, and counts them", () => {
    const { items, omitted } = keeping(["a", "b", "c", "d", "e", "f"], 2, 2);
    expect({ items, omitted }).toEqual({ items: ["a", "b", "e", "f"], omitted: 2 });
  });

  test("adds nothing to the first ones after one that did not fit there", () => {
    const { items } = keeping(["a", "long", "b", "c"], 2, 2);
    expect(items).toEqual(["a", "b", "c"]);
  });

  test("keeps the last one even if it is too large alone", () => {
    const { items, omitted } = keeping(["a", "b", "much too long"], 1, 2);
    expect({ items, omitted }).toEqual({ items: ["a", "much too long"], omitted: 1 });
  });

  test("goes on from what another one has kept, and from its count", () => {
    const before = keeping(["a", "b", "c", "d", "e"], 1, 2);
    const after = new FirstAndLast<string>(1, 2, lengthOf);
    after.addAll(before.items, before.omitted);
    after.add("f");
    expect({ items: after.items, omitted: after.omitted }).toEqual({ items: ["a", "e", "f"], omitted: 3 });
  });

  test("never loses one without counting it, and never keeps more than its room", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ minLength: 1, maxLength: 6 })),
        fc.nat(20),
        fc.nat(20),
        (texts, first, last) => {
          const { items, omitted } = keeping(texts, first, last);
          expect(items.length + omitted).toBe(texts.length);
          expect(items.at(-1)).toBe(texts.at(-1));
          const size = items.slice(0, -1).reduce((sum, text) => sum + text.length, 0);
          expect(size).toBeLessThanOrEqual(first + last);
        },
      ),
    );
  });
});
