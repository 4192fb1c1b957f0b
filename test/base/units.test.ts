import fc from "fast-check";
import { expect, test } from "vitest";
import { formatBytes, formatDuration, parseDuration, parseSize } from "../../src/base/units.ts";

test.each([
  ["250ms", 250],
  ["5s", 5_000],
  ["1.5 s", 1_500],
  ["0.001s", 1],
  ["2m", 120_000],
  ["1h", 3_600_000],
  [40, 40],
])("the duration %s is %i ms", (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

test.each([
  ["512B", 512],
  ["64MiB", 67_108_864],
  ["1.5 KiB", 1_536],
  ["2GiB", 2_147_483_648],
  [7, 7],
])("the size %s is %i bytes", (text, bytes) => {
  expect(parseSize(text)).toBe(bytes);
});

test.each([
  "",
  "5",
  "s",
  "-1s",
  "0s",
  "1.5ms",
  "5S",
  "1e3s",
  "5s ",
  " 5s",
  "5 apples",
  "999999999999999h",
  0,
  -1,
  1.5,
])("%j is not a valid duration", (text) => {
  expect(parseDuration(text)).toBeUndefined();
});

test.each(["64MB", "64mib", "64M", "0.1B", "64", 0])("%j is not a valid size", (text) => {
  expect(parseSize(text)).toBeUndefined();
});

test("every accepted amount is a whole number above zero", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.double(), fc.stringMatching(/^[0-9.]{1,6}(ms|s|m|h)$/)), (text) => {
      const ms = parseDuration(text);
      expect(ms === undefined || (Number.isSafeInteger(ms) && ms > 0)).toBe(true);
    }),
  );
});

test.each([
  [1, "1ms"],
  [999, "999ms"],
  [1_500, "1.5s"],
  [30_000, "30s"],
  [7_200_000, "7200s"],
])("%i ms are written as %s", (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});

test.each([
  [512, "512 B"],
  [1_024, "1 KiB"],
  [1_536, "1.5 KiB"],
  [67_108_864, "64 MiB"],
  [5_368_709_120, "5 GiB"],
])("%i bytes are written as %s", (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});
