import { describe, expect, test } from "vitest";
import { WaitingBudget } from "../../../src/sandboxes/quickjs/waiting-budget.ts";

const MIB = 1_024 * 1_024;

describe("the budget of waiting guests", () => {
  test("waiting guests of one session get at most a quarter of 256 MiB", () => {
    const budget = new WaitingBudget();
    expect(budget.reserve("a", 60 * MIB)).toBe(true);
    expect(budget.reserve("a", 5 * MIB)).toBe(false);
    expect(budget.reserve("b", 60 * MIB)).toBe(true);
  });

  test("waiting guests get at most 256 MiB in total, and released memory is available again", () => {
    const budget = new WaitingBudget();
    for (const session of ["a", "b", "c", "d"]) expect(budget.reserve(session, 64 * MIB)).toBe(true);
    expect(budget.reserve("e", 1)).toBe(false);
    budget.release("a", 64 * MIB);
    expect(budget.reserve("e", 64 * MIB)).toBe(true);
    expect(budget.reserve("a", 1)).toBe(false);
  });
});
