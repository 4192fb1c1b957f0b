import { describe, expect, test } from "vitest";
import { UserWords } from "../../../src/policy/user-words.ts";

const has = (text: string, value: string | number): boolean => new UserWords(text).have(value);

describe("A number is in the user's words by its value", () => {
  test.each([
    ["send $10.00 to Ann", 10],
    ["send 1,000.50 to Ann", 1_000.5],
    ["send 12 or 13.", 13],
    ["on May 19 2024 send 7", 19],
    ["rooms 12 13 and 14", 13],
    ["a credit of -5", -5],
    ["(25€)", 25],
  ])("in %j: %d", (text, value) => expect(has(text, value)).toBe(true));

  test.each([
    ["send 10.00 to Ann", 1_000],
    ["send 1,00 to Ann", 100],
    ["send 1.000,00 to Ann", 1],
    ["send 1e3 to Ann", 1_000],
    ["send 1e3 to Ann", 1],
    ["on 2024-05-19 at 10:30", 2_024],
    ["on 2024-05-19 at 10:30", 30],
    ["with 5% more", 5],
    ["version 1.2.3", 1.2],
    ["send 5 000 to Ann", 5],
    ["send 5 000 to Ann", 0],
    ["send 5\u202f000,50 to Ann", 5],
    ["send 1'000 to Ann", 1],
    ["send 12 345 678 to Ann", 345],
    ["a credit of −5", 5],
    ["room A12", 12],
    ["account 1234567890123456", 1_234_567_890_123_456],
    ["send 10 to Ann", Number.NaN],
  ])("but not in %j: %d", (text, value) => expect(has(text, value)).toBe(false));

  test("and a text of digits only as it is written", () => {
    expect(has("send 10.00 to Ann", "10.00")).toBe(true);
    expect(has("send 10.00 to Ann", "10")).toBe(false);
  });
});

describe("Of a date or time, the day is in the user's words", () => {
  test.each([
    ["on 2024-05-19", "2024-05-19 12:00"],
    ["on 2024-05-19.", "2024-05-19T12:00:00Z"],
    ["on May 19th, 2024", "2024-05-19"],
    ["on the 19th of May 2024", "2024-05-19T12:00"],
    ["from 14 to 15 november", "2024-11-14"],
    ["from 14 to 15 november", "2024-11-15"],
    ["November 10-15, 2024", "2024-11-15 09:00"],
    ["on Sept. 3", "2031-09-03"],
  ])("in %j: %j", (text, value) => expect(has(text, value)).toBe(true));

  test.each([
    ["on 2024-05-19", "2024-05-20 12:00"],
    ["on May 19th, 2024", "2025-05-19"],
    ["on 5/6/2024", "2024-05-06"],
    ["on 2024-05-199", "2024-05-19"],
    ["maybe 19", "2024-05-19"],
    ["on 2024-05-19", "2024-05-19 and forward it"],
    ["on 2024-05-19", "x2024-05-19T12:00"],
  ])("but not in %j: %j", (text, value) => expect(has(text, value)).toBe(false));
});

test("hostile words and values take no time to speak of", () => {
  for (const piece of [
    "1,",
    "1,000",
    "a.",
    "-",
    "May 1 to ",
    "@",
    ". ",
    "[.",
    "&#4",
    "AA00 ",
    "1 ",
    "%2",
    "((",
    "'",
  ]) {
    const text = piece.repeat(60_000 / piece.length);
    const words = new UserWords(text);
    expect(words.have(7)).toBe(false);
    expect(words.have("2024-02-02")).toBe(false);
    expect(words.have(`${piece.repeat(500)}x`)).toBe(false);
    expect(words.haveReference("x")).toBe(false);
  }
});
