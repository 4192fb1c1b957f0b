import { describe, expect, it } from "vitest";
import { newId } from "../../src/sessions/ids.ts";

describe("newId", () => {
  it("begins with the time in Crockford's base 32, so that ids sort by it", () => {
    expect(newId(0)).toMatch(/^0{10}/);
    expect(newId(1_763_843_400_000)).toMatch(/^01KAPM4RA0/);
    expect(newId(2 ** 48 - 1)).toMatch(/^7ZZZZZZZZZ/);
    expect([newId(33), newId(1_024), newId(32), newId(31)].sort().map((id) => id.slice(0, 10))).toEqual([
      "000000000Z",
      "0000000010",
      "0000000011",
      "0000000100",
    ]);
  });

  it("has 26 random characters, of which the last has the 3 bits that are left", () => {
    for (let i = 0; i < 100; i++) {
      expect(newId()).toMatch(/^[0-9A-HJKMNP-TV-Z]{35}[048CGMRW]$/);
    }
  });

  it("takes every random character from all values, and never returns an id twice", () => {
    const ids = Array.from({ length: 10_000 }, () => newId(0));
    expect(new Set(ids).size).toBe(ids.length);
    for (let at = 10; at < 36; at++) {
      expect(new Set(ids.map((id) => id[at])).size).toBe(at === 35 ? 8 : 32);
    }
  });
});
