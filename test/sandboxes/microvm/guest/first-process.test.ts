import { createHash } from "node:crypto";
import { expect, test } from "vitest";
// Inside: compares the program with the digest that was reviewed; a machine only runs it.
import { FIRST_PROCESS } from "../../../../src/sandboxes/microvm/guest/first-process.ts";
import { FIRST_PROCESS_DIGEST } from "../../../../src/sandboxes/microvm/guest/first-process-binary.ts";

/** The flags of the segments that are loaded (elf(5)): 1 to execute, 2 to write, 4 to read. */
function loadedSegments(program: Buffer): number[] {
  const start = Number(program.readBigUInt64LE(32));
  const headers = Array.from({ length: program.readUInt16LE(56) }, (_, index) => start + 56 * index);
  return headers.filter((at) => program.readUInt32LE(at) === 1).map((at) => program.readUInt32LE(at + 4));
}

test("the first process of a machine is the program whose digest was reviewed", () => {
  expect(createHash("sha256").update(FIRST_PROCESS).digest("hex")).toBe(FIRST_PROCESS_DIGEST);
});

test("no memory of the first process is writable and executable", () => {
  expect(loadedSegments(FIRST_PROCESS)).toEqual([4 + 1, 4 + 2]);
});
