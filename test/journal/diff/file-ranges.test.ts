import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { linesOf, rangesOf } from "../../../src/journal/diff/file-ranges.ts";
import { JournalError } from "../../../src/journal/journal-error.ts";
import { TemporaryDirectory } from "../records.ts";

describe("The ranges of a file", () => {
  test("have each line once, however the file is split", async () => {
    using directory = new TemporaryDirectory();
    const path = join(directory.path, "lines");
    const line = fc.string({ unit: fc.constantFrom("a", "é", '"', "{"), maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 8 }), fc.array(fc.nat(60)), async (lines, cuts) => {
        const bytes = Buffer.from(lines.map((each) => `${each}\n`).join(""));
        await writeFile(path, bytes);
        const ends = [...cuts.filter((cut) => cut < bytes.length), bytes.length].sort((a, b) => a - b);
        const read: string[] = [];
        for (const [index, end] of ends.entries()) {
          const range = { directory: directory.path, path, start: ends[index - 1] ?? 0, end };
          for await (const batch of linesOf(range)) read.push(...batch.map((each) => each.bytes.toString()));
        }
        expect(read).toEqual(lines);
      }),
      { numRuns: 200 },
    );
  });

  test("cannot be found in a directory without a journal", async () => {
    using directory = new TemporaryDirectory();
    await expect(rangesOf(directory.path)).rejects.toThrow(JournalError);
    await expect(rangesOf(join(directory.path, "missing"))).rejects.toThrow("cannot be read");
    const missing = join(directory.path, "journal-0000000000000001.jsonl");
    await expect(rangesOf(missing)).rejects.toThrow("cannot be read");
    const other = join(directory.path, "lock");
    await writeFile(other, "");
    await expect(rangesOf(other)).rejects.toThrow("cannot be read");
  });
});
