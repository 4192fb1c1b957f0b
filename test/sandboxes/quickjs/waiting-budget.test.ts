import { describe, expect, test } from "vitest";
import { WaitingBudget } from "../../../src/sandboxes/quickjs/waiting-budget.ts";

const MIB = 1_024 * 1_024;

const session = (sessionId: string) => ({ sessionId });
const of = (id: string, sessionId: string) => ({ sessionId, principal: { id } });

describe("the budget of waiting guests", () => {
  test("waiting guests of one session get at most a quarter of 256 MiB", () => {
    const budget = new WaitingBudget();
    expect(budget.reserve(session("a"), 60 * MIB)).toBe(true);
    expect(budget.reserve(session("a"), 5 * MIB)).toBe(false);
    expect(budget.reserve(session("b"), 60 * MIB)).toBe(true);
  });

  test("waiting guests of one principal get at most a half of it, in however many sessions", () => {
    const budget = new WaitingBudget();
    for (const id of ["a", "b"]) expect(budget.reserve(of("mallory", id), 64 * MIB)).toBe(true);
    expect(budget.reserve(of("mallory", "c"), 1)).toBe(false);
    expect(budget.reserve(of("alice", "c"), 64 * MIB)).toBe(true);
    budget.release(of("mallory", "a"), 64 * MIB);
    expect(budget.reserve(of("mallory", "c"), 64 * MIB)).toBe(false);
    expect(budget.reserve(of("mallory", "d"), 64 * MIB)).toBe(true);
  });

  test("waiting guests get at most 256 MiB in total, and released memory is available again", () => {
    const budget = new WaitingBudget();
    for (const id of ["a", "b", "c", "d"]) expect(budget.reserve(session(id), 64 * MIB)).toBe(true);
    expect(budget.reserve(session("e"), 1)).toBe(false);
    budget.release(session("a"), 64 * MIB);
    expect(budget.reserve(session("e"), 64 * MIB)).toBe(true);
    expect(budget.reserve(session("a"), 1)).toBe(false);
  });
});
