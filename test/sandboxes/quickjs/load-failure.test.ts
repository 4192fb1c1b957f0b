import { describe, expect, test } from "vitest";
import { describeLoadFailure } from "../../../src/sandboxes/quickjs/quickjs-sandbox.ts";

describe("describeLoadFailure()", () => {
  test.each([
    [
      "RangeError: no\n    at check (lib/check.ts:2:9)\n    at tool.ts:1:1",
      "lib/check.ts:2:9: RangeError: no",
    ],
    ["SyntaxError: bad\n    at tool.js:3:4", "tool.js:3:4: SyntaxError: bad"],
    ["Error: two\nlines\n    at <anonymous> (my tool.js:3:4)", "tool.js:3:4: Error: two\nlines"],
    ["Error: no position\n    at f (native)", "Error: no position"],
    ["Error: no stack", "Error: no stack"],
  ])("describeLoadFailure() puts the position of the first frame before the error: %j", (detail, text) => {
    expect(describeLoadFailure(detail)).toBe(text);
  });

  test.each([
    ["newlines", `Error: ${"\n".repeat(1_000_000)}x`],
    ["lines that resemble frames", `Error: ${"\n    at".repeat(200_000)}`],
    ["spaces", `Error: \n${" ".repeat(1_000_000)}`],
    ["a frame of brackets", `Error: \n    at ${"(".repeat(1_000_000)}`],
    ["a frame of colons and digits", `Error: \n    at ${":1".repeat(500_000)}x`],
    ["many long frames", `Error: \n${`    at ${"x:1".repeat(300)}\n`.repeat(1_000)}`],
  ])("describeLoadFailure() takes linear time for %s", (_case, detail) => {
    const before = process.threadCpuUsage();
    describeLoadFailure(detail);
    const { user } = process.threadCpuUsage(before);
    // Quadratic code took 28 s of CPU time for 100,000 newlines.
    expect(user).toBeLessThan(10_000_000);
  });
});
