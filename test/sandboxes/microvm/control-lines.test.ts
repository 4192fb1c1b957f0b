import { PassThrough } from "node:stream";
import fc from "fast-check";
import { expect, test } from "vitest";
// Inside: cuts a line into pieces of any size; a machine sends it as it likes.
import { awaitLine } from "../../../src/sandboxes/microvm/control-port.ts";

const isEnd = (line: string): true | undefined => (line === "token end" ? true : undefined);

test("finds the line among others, however it is cut into pieces", async () => {
  const pieces = fc.array(
    fc.string({ maxLength: 20, unit: "binary" }).map((text) => text.replaceAll("\n", "")),
    {
      maxLength: 20,
    },
  );
  await fc.assert(
    fc.asyncProperty(pieces, fc.integer({ min: 1, max: 20 }), async (lines, size) => {
      const control = new PassThrough();
      const found = awaitLine(control, isEnd);
      const text = Buffer.from([...lines, "token end", ""].join("\n"));
      for (let from = 0; from < text.length; from += size) control.write(text.subarray(from, from + size));
      expect(await found).toBe(true);
    }),
    { numRuns: 30 },
  );
});

test("gives up on a machine that sends more than 4 KiB without the line", async () => {
  const control = new PassThrough();
  const found = awaitLine(control, isEnd);
  for (let count = 0; count < 5; count++) control.write("x".repeat(1_024));
  expect(await found).toBeUndefined();
  control.write("\ntoken end\n");
  expect(control.listenerCount("data")).toBe(0);
});
