import { expect, test } from "vitest";
import { checkEdits } from "./edits/check-edits.ts";

test("1,000 edits of a journal are found, each by its kind and the first record that contradicts", async () => {
  const { missed, counts } = await checkEdits(1_000, 1);
  expect(missed).toEqual([]);
  expect(Object.keys(counts).sort()).toEqual([
    "changed",
    "clock",
    "cut",
    "file",
    "forged",
    "inserted",
    "key",
    "missing",
    "order",
    "rewritten",
    "sound",
    "unreadable",
  ]);
});
