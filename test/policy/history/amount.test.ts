import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { amountOf, isExactAmount } from "../../../src/policy/call-history.ts";

const UNIT = 10n ** 12n;

describe("an amount", () => {
  test("adds up as people calculate, and not as floating-point numbers do", () => {
    const sum = (...values: readonly number[]): bigint =>
      values.reduce((total, value) => total + (amountOf(value) ?? 0n), 0n);
    expect(sum(0.1, 0.2)).toBe(amountOf(0.3));
    expect(sum(...new Array<number>(1_000).fill(0.01))).toBe(amountOf(10));
    expect(sum(Number.MAX_SAFE_INTEGER, 0.01)).toBe(BigInt(Number.MAX_SAFE_INTEGER) * UNIT + UNIT / 100n);
  });

  test("is unknown for negative, huge and infinite numbers, and for what is not a number", () => {
    const values = [-1, -1e-9, -Number.MIN_VALUE, 2 ** 53, 1e21, 1e308, Infinity, -Infinity, Number.NaN];
    for (const value of [...values, "5", null, true, [5], { value: 5 }, Symbol("missing"), undefined]) {
      expect(amountOf(value)).toBeUndefined();
    }
    expect(amountOf(-0)).toBe(0n);
  });

  test("is rounded up after twelve decimals", () => {
    expect(amountOf(1e-12)).toBe(1n);
    expect(amountOf(1.5e-12)).toBe(2n);
    expect(amountOf(Number.MIN_VALUE)).toBe(1n);
    expect(amountOf(0.1 + 0.2)).toBe((amountOf(0.3) as bigint) + 1n);
    expect([0.25, 1e-12, 12, 0].map(isExactAmount)).toEqual([true, true, true, true]);
    expect([0.1 + 0.2, 1e-13, 2 ** 53, -1].map(isExactAmount)).toEqual([false, false, false, false]);
  });

  test("is exact for every decimal of twelve digits", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 15n - 1n }), fc.nat({ max: 12 }), (digits, decimals) => {
        const text = digits.toString().padStart(decimals + 1, "0");
        const value = Number(
          `${text.slice(0, text.length - decimals)}.${text.slice(text.length - decimals)}0`,
        );
        expect(amountOf(value)).toBe(digits * 10n ** BigInt(12 - decimals));
      }),
    );
  });

  test("is within one unit of the number", () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, noNaN: true }), (value) => {
        const amount = amountOf(value) as bigint;
        // The number in units of 2^-104.
        const exact = BigInt(Math.ceil(value * 2 ** 52 * 2 ** 52));
        expect(amount * 2n ** 104n >= exact * UNIT - 2n ** 104n).toBe(true);
        expect(amount * 2n ** 104n <= (exact + 1n) * UNIT + 2n ** 104n).toBe(true);
      }),
    );
  });
});
