import { expect, test } from "vitest";
import { SteadyClock } from "../../../src/base/steady-clock.ts";
import { CanonicalJson } from "../../../src/json/canonical.ts";
import { amountOf, type LedgerQuery, type LedgerTally } from "../../../src/policy/call-history.ts";
import type { PolicyRequest } from "../../../src/policy/policy.ts";
// Inside: ends and releases the same call twice, which a turn does not do.
import { LedgerScope, Ledgers } from "../../../src/sessions/ledger/ledgers.ts";
import { MessageLedger } from "../../../src/sessions/ledger/message-ledger.ts";

const ALL: LedgerQuery = {
  key: "all",
  scope: "session",
  withinMs: Number.POSITIVE_INFINITY,
  amount: "/amount",
  matchesTool: () => true,
};

function newMessage(): { readonly ledger: MessageLedger; total(): LedgerTally } {
  const ledgers = new Ledgers({ maxEntries: 100, clock: new SteadyClock() });
  const [turn, session] = [new LedgerScope(ledgers), new LedgerScope(ledgers)];
  const ledger = new MessageLedger({
    sessionId: "s",
    turnId: "t",
    turn,
    session,
    principal: undefined,
    isShared: false,
  });
  return { ledger, total: () => session.ledger.tally(ALL, 0, undefined) };
}

function request(callId: string, amount: number, confirmedBy?: string): PolicyRequest {
  const input = { amount };
  return {
    callId,
    sessionId: "s",
    input,
    canonical: new CanonicalJson(input),
    confirmedBy,
    tool: { name: "pay", sideEffects: "write", sandboxes: ["host"], inputSchema: {} },
  };
}

test("a call does not count for itself, also not after a person confirmed it with other arguments", () => {
  const { ledger, total } = newMessage();
  expect(ledger.begin(request("a", 5)).tally(ALL)).toEqual({ count: 0, sum: 0n, isComplete: true });
  expect(ledger.without("a").tally(ALL)).toMatchObject({ count: 0 });
  expect(ledger.begin(request("a", 7, "eve")).tally(ALL)).toMatchObject({ count: 0, sum: 0n });
  expect(total()).toEqual({ count: 1, sum: amountOf(7), isComplete: true });
});

test("a call that has ended, or was released, cannot be released again", () => {
  const { ledger, total } = newMessage();
  ledger.begin(request("a", 5));
  ledger.end("a", true);
  ledger.release("a");
  expect(total()).toMatchObject({ count: 1 });
  ledger.begin(request("b", 5));
  ledger.release("b");
  ledger.release("b");
  ledger.end("b", true);
  ledger.release("unknown");
  expect(total()).toMatchObject({ count: 1, sum: amountOf(5) });
});

test("a principal's ledger is unknown to a session without a principal", () => {
  const { ledger } = newMessage();
  expect(ledger.begin(request("a", 1)).tally({ ...ALL, scope: "principal" })).toMatchObject({
    isComplete: false,
  });
});
