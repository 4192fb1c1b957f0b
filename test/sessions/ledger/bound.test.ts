import { expect, test } from "vitest";
import { SteadyClock } from "../../../src/base/steady-clock.ts";
import type { LedgerQuery, LedgerTally } from "../../../src/policy/call-history.ts";
// Inside: enters 100,000 calls without running them.
import { LedgerScope, Ledgers } from "../../../src/sessions/ledger/ledgers.ts";
import { checkOptions, type SessionLimits } from "../../../src/sessions/options.ts";

const QUERY: Omit<LedgerQuery, "matchesTool"> = {
  key: "pay",
  scope: "session",
  withinMs: Number.POSITIVE_INFINITY,
};

/** Enters calls that end at once, and returns what the ledger of their session has of those of one tool. */
function enter(
  limits: SessionLimits | undefined,
  ...calls: readonly (readonly [string, number])[]
): LedgerTally {
  const options = { limits } as unknown as Parameters<typeof checkOptions>[0];
  const { ledgerEntries: maxEntries } = checkOptions(options);
  const ledgers = new Ledgers({ maxEntries, clock: new SteadyClock() });
  const { ledger } = new LedgerScope(ledgers);
  const place = { sessionId: "s", turnId: "t", principal: undefined, ledgers: [ledger] };
  for (const [tool, count] of calls) {
    for (let index = 0; index < count; index++) ledgers.end(ledgers.begin(tool, {}, place), true);
  }
  return ledger.tally({ ...QUERY, matchesTool: (name) => name === "pay" }, ledgers.now(), undefined);
}

test("a session's ledger has 100,000 calls by default, and knows that it has no more", () => {
  expect(enter(undefined, ["pay", 1], ["look", 99_999])).toMatchObject({ count: 1, isComplete: true });
  expect(enter(undefined, ["pay", 1], ["look", 100_000])).toMatchObject({ count: 0, isComplete: false });
});

test("a session's ledger has as many calls as its option says", () => {
  expect(enter({ ledgerEntries: 2 }, ["pay", 2])).toMatchObject({ count: 2, isComplete: true });
  expect(enter({ ledgerEntries: 2 }, ["pay", 3])).toMatchObject({ count: 2, isComplete: false });
  for (const ledgerEntries of [0, 1.5, 10_000_001]) {
    expect(() => enter({ ledgerEntries })).toThrow("limits.ledgerEntries");
  }
});
