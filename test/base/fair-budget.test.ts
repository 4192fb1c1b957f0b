import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FairBudget } from "../../src/base/fair-budget.ts";

describe("FairBudget", () => {
  test("a caller alone may take all of it", () => {
    const budget = new FairBudget(100, 10);
    expect([budget.acquire("a", 100), budget.acquire("a", 1)]).toEqual([true, false]);
    budget.release("a", 1);
    expect(budget.acquire("a", 1)).toBe(true);
  });

  test("a caller alone may take no more than one caller may", () => {
    const budget = new FairBudget(100, 10, 30);
    expect([budget.acquire("a", 30), budget.acquire("a", 1), budget.acquire("b", 30)]).toEqual([
      true,
      false,
      true,
    ]);
  });

  test("a caller that comes while another holds everything gets its share at once, and up to half soon", () => {
    const budget = new FairBudget(100, 10);
    budget.acquire("a", 100);
    expect([budget.acquire("b", 10), budget.acquire("b", 1)]).toEqual([true, false]);
    budget.release("a", 20);
    expect([budget.acquire("a", 1), budget.acquire("b", 10)]).toEqual([false, true]);
    budget.release("a", 30);
    expect([budget.acquire("a", 1), budget.acquire("b", 30), budget.acquire("b", 1)]).toEqual([
      false,
      true,
      false,
    ]);
  });

  test("callers with little do not hinder one with more while half of it is free", () => {
    const budget = new FairBudget(100, 1);
    for (let index = 0; index < 9; index++) budget.acquire(`small ${index}`, 1);
    expect([budget.acquire("a", 41), budget.acquire("a", 1)]).toEqual([true, false]);
  });

  test("in any order, shares are guaranteed, and the excess is at most one share for each caller", () => {
    const step = fc.record({
      caller: fc.constantFrom("a", "b", "c"),
      amount: fc.integer({ min: -30, max: 30 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const budget = new FairBudget(50, 5);
        const held = new Map<string, number>();
        for (const { caller, amount } of steps) {
          const own = held.get(caller) ?? 0;
          if (amount < 0) {
            const back = Math.min(own, -amount);
            budget.release(caller, back);
            held.set(caller, own - back);
          } else {
            const isTaken = budget.acquire(caller, amount);
            if (own + amount <= 5) expect(isTaken).toBe(true);
            if (isTaken) held.set(caller, own + amount);
          }
          const used = [...held.values()].reduce((a, b) => a + b, 0);
          expect(used).toBeLessThanOrEqual(50 + 3 * 5);
        }
        for (const [caller, amount] of held) budget.release(caller, amount);
        expect(budget.acquire("d", 50)).toBe(true);
      }),
    );
  });
});
