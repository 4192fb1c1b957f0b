import { expect, test } from "vitest";
import { boundFailure, shorten } from "../../../src/sandboxes/contract/failure.ts";

test("a failure that fits the output limit is kept as it is", () => {
  const failure = { message: "no", detail: "Error: no\n    at tool.js:1:1" };
  expect(boundFailure(failure, 2_000)).toEqual(failure);
});

test.each([
  [10_000, 10_000],
  [undefined, 65_536],
  [Number.MAX_SAFE_INTEGER, 65_536],
  [1, 1_024],
])("with an output limit of %s bytes, the texts of a failure take at most %i bytes", (outputBytes, most) => {
  const { message, detail } = boundFailure(
    { message: "é".repeat(1e6), detail: "x".repeat(1e6) },
    outputBytes,
  );
  expect(message.endsWith("é…") && detail.endsWith("x…")).toBe(true);
  const bytes = Buffer.byteLength(message + detail);
  expect(bytes).toBeGreaterThan(most - 10);
  expect(bytes).toBeLessThanOrEqual(most);
});

test("shorten() splits no character", () => {
  expect(shorten("a😀😀", 9)).toBe("a😀😀");
  expect(shorten("a😀😀", 8)).toBe("a😀…");
  expect(shorten("\ud800".repeat(9), 9)).toBe("\ud800\ud800…");
});
