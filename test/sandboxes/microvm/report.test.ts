import fc from "fast-check";
import { expect, test } from "vitest";
// Inside: reads lines that the first process does not write: without the token, or of another form.
import { reportReader } from "../../../src/sandboxes/microvm/microvm-call.ts";

const TOKEN = "0123456789abcdef0123456789abcdef";

function read(lines: readonly string[]): unknown {
  const reader = reportReader(TOKEN);
  return lines.map((line) => reader(line)).find((report) => report !== undefined);
}

test("reads the exit code, processes killed for their memory, and the most memory", () => {
  const events = ["max 3", "oom 0", "oom_kill 0", "oom_group_kill 0"];
  expect(read([`${TOKEN}adaalow 0`, ...events, "4096"])).toEqual({
    code: 3,
    ranOutOfMemory: false,
    peakBytes: 4_096,
  });
  expect(read([`${TOKEN}aaajlow 0`, "oom_kill 2", "none"])).toEqual({ code: 137, ranOutOfMemory: true });
});

test("reads nothing before the token, and no line of another form", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "binary" })), (lines) => {
      expect(read([...lines.filter((line) => !line.startsWith(TOKEN)), "4096"])).toBeUndefined();
    }),
    { numRuns: 50 },
  );
  expect(read([`${TOKEN}zzzz`, "4096"])).toBeUndefined();
  expect(read([`${TOKEN}aaaa`, "oom_kill -1", "4096x", "-1", ""])).toBeUndefined();
});
