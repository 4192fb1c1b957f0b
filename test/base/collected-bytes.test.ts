import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { expect, test } from "vitest";
import { CollectedBytes } from "../../src/base/collected-bytes.ts";

test("bytes are those of the chunks, in their order", () => {
  const sizes = fc.array(fc.oneof(fc.nat(3), fc.integer({ min: 4_000, max: 5_000 }), fc.nat(40_000)));
  fc.assert(
    fc.property(sizes, fc.nat(10), (lengths, readAt) => {
      const collected = new CollectedBytes();
      const chunks = lengths.map((length, index) => Buffer.alloc(length, index));
      for (const [index, chunk] of chunks.entries()) {
        collected.add(chunk);
        if (index === readAt) collected.read();
      }
      expect(collected.read().equals(Buffer.concat(chunks))).toBe(true);
      expect(collected.length).toBe(Buffer.concat(chunks).length);
      collected.clear();
      expect([collected.length, collected.read().length]).toEqual([0, 0]);
    }),
  );
});

test("chunks of one byte, each read into a buffer of its own, take little more memory than their bytes", () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const taken = (): number => {
    collect();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  const collected = new CollectedBytes();
  const before = taken();
  for (let count = 0; count < 200_000; count++) collected.add(Buffer.from(new ArrayBuffer(1)));
  // A list of them takes 40 MB.
  expect(taken() - before).toBeLessThan(8_000_000);
  expect(collected.length).toBe(200_000);
});
