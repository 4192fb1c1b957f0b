import fc from "fast-check";
import { expect, test } from "vitest";
import { BoundedLines } from "../../../src/supervisor/agent-log.ts";

/** Pushes chunks until one is refused. */
function read(
  lines: BoundedLines,
  chunks: readonly Buffer[],
): { readonly read: string[]; readonly isShort: boolean } {
  const found: string[] = [];
  for (const chunk of chunks) {
    const pushed = lines.push(chunk);
    for (let next = pushed.next(); ; next = pushed.next()) {
      if (next.done !== true) found.push(next.value.toString("latin1"));
      else if (next.value) break;
      else return { read: found, isShort: false };
    }
  }
  return { read: found, isShort: true };
}

/** Cuts a buffer at positions. */
function cut(bytes: Buffer, positions: readonly number[]): readonly Buffer[] {
  const sorted = [0, ...positions.map((at) => at % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  return sorted.slice(1).map((end, index) => bytes.subarray(sorted[index], end));
}

test("lines are the same however their bytes arrive", () => {
  fc.assert(
    fc.property(
      fc.array(fc.stringMatching(/^[a-z]{0,12}$/), { maxLength: 20 }),
      fc.stringMatching(/^[a-z]{0,12}$/),
      fc.array(fc.nat(), { maxLength: 10 }),
      (given, rest, positions) => {
        const lines = new BoundedLines(12);
        const bytes = Buffer.from([...given, rest].join("\n"));
        expect(read(lines, cut(bytes, positions))).toEqual({ read: given, isShort: true });
        expect(lines.rest.toString()).toBe(rest);
      },
    ),
  );
});

test("a line that is one byte too long is refused, with and without its end, however it arrives", () => {
  fc.assert(
    fc.property(fc.boolean(), fc.array(fc.nat(), { maxLength: 5 }), (hasEnd, positions) => {
      const bytes = Buffer.from(`short\n${"x".repeat(13)}${hasEnd ? "\nmore\n" : ""}`);
      const lines = new BoundedLines(12);
      expect(read(lines, cut(bytes, positions))).toEqual({ read: ["short"], isShort: false });
    }),
  );
  expect(read(new BoundedLines(12), [Buffer.from(`${"x".repeat(12)}\n`)]).isShort).toBe(true);
});
