import { describe, expect, test } from "vitest";
import { GuestMemory } from "../../../src/sandboxes/contract/guest-memory.ts";

const MIB = 1_024 * 1_024;

const session = (sessionId: string) => ({ sessionId });
const of = (id: string, sessionId: string) => ({ sessionId, principal: { id } });

describe("the budget of waiting guests", () => {
  test("waiting guests of one session get at most a quarter of 256 MiB", () => {
    const budget = new GuestMemory();
    expect(budget.reserve(session("a"), 60 * MIB)).toBe(true);
    expect(budget.reserve(session("a"), 5 * MIB)).toBe(false);
    expect(budget.reserve(session("b"), 60 * MIB)).toBe(true);
  });

  test("waiting guests of one principal get at most a half of it, in however many sessions", () => {
    const budget = new GuestMemory();
    for (const id of ["a", "b"]) expect(budget.reserve(of("mallory", id), 64 * MIB)).toBe(true);
    expect(budget.reserve(of("mallory", "c"), 1)).toBe(false);
    expect(budget.reserve(of("alice", "c"), 64 * MIB)).toBe(true);
    budget.release(of("mallory", "a"), 64 * MIB);
    // The session of another principal may have the same id.
    expect(budget.reserve(of("mallory", "c"), 64 * MIB)).toBe(true);
    expect(budget.reserve(of("mallory", "d"), 1)).toBe(false);
  });

  test("waiting guests get at most 256 MiB in total, and released memory is available again", () => {
    const budget = new GuestMemory();
    for (const id of ["a", "b", "c", "d"]) expect(budget.reserve(session(id), 64 * MIB)).toBe(true);
    expect(budget.reserve(session("e"), 1)).toBe(false);
    budget.release(session("a"), 64 * MIB);
    expect(budget.reserve(session("e"), 64 * MIB)).toBe(true);
    expect(budget.reserve(session("a"), 1)).toBe(false);
  });
});

describe("what is in flight for guests", () => {
  test("gets at most three quarters of a share, and waits for more until there is room", async () => {
    const memory = new GuestMemory();
    const [oldest, first, second] = [
      memory.open(of("ann", "a")),
      memory.open(of("ann", "a")),
      memory.open(of("ann", "a")),
    ];
    expect([oldest.take(8 * MIB), first.take(40 * MIB), second.take(1)]).toEqual([true, true, false]);
    const waiting = second.wait(8 * MIB);
    const other = memory.open(of("ann", "b"));
    expect(other.take(40 * MIB)).toBe(true);
    first.close();
    expect(await waiting).toBe(true);
    expect(second.bytes).toBe(8 * MIB);
  });

  test("the oldest one of a session goes on although there is no room, up to 16 MiB", () => {
    const memory = new GuestMemory();
    const [oldest, other] = [memory.open(of("ann", "a")), memory.open(of("ann", "a"))];
    expect([oldest.take(1), other.take(47 * MIB)]).toEqual([true, true]);
    expect([oldest.take(15 * MIB), oldest.take(2 * MIB), other.take(MIB)]).toEqual([true, false, false]);
    oldest.close();
    expect([other.take(MIB), other.bytes]).toEqual([true, 48 * MIB]);
  });

  test("waits for nothing that it can never have, and no longer than until it ends", async () => {
    const memory = new GuestMemory();
    const lease = memory.open(of("ann", "a"));
    expect(await lease.wait(65 * MIB)).toBe(false);
    const other = memory.open(of("ann", "a"));
    expect(other.take(40 * MIB)).toBe(true);
    const waiting = other.wait(10 * MIB);
    other.close();
    expect(await waiting).toBe(false);
    expect(await other.wait(1)).toBe(false);
    lease.settle(3 * MIB);
    lease.close();
    expect(memory.reserve(of("ann", "a"), 64 * MIB)).toBe(true);
  });

  test("is free up to 64 KiB for the output of a call, and charged as a whole beyond", () => {
    const memory = new GuestMemory();
    const small = Array.from({ length: 2_000 }, () => memory.openForOutput(of("ann", "a")));
    expect(small.every((lease) => lease.take(64 * 1_024))).toBe(true);
    const [first, second] = [memory.openForOutput(of("ann", "a")), memory.openForOutput(of("ann", "a"))];
    expect([first.take(8 * MIB), second.take(40 * MIB), second.take(1)]).toEqual([true, true, false]);
    first.close();
    expect(second.take(MIB)).toBe(true);
    expect(small[0]?.take(8 * MIB)).toBe(false);
  });

  test("is refused instead of waiting when all that could give something back wait, and says whose share is used up", async () => {
    const memory = new GuestMemory();
    const [oldest, other] = [memory.openForOutput(of("ann", "a")), memory.openForOutput(of("ann", "a"))];
    expect([oldest.take(24 * MIB), other.take(24 * MIB)]).toEqual([true, true]);
    const waiting = oldest.wait(MIB);
    expect([await other.wait(MIB), other.wasRefused, oldest.wasRefused]).toEqual([false, true, false]);
    expect(other.refusal("the output")).toBe(
      "There is no memory for the output: all calls of this session together may have 64 MiB in flight; ask for less, or make fewer calls at once",
    );
    other.close();
    expect([await waiting, oldest.bytes]).toEqual([true, 25 * MIB]);
  });
});
