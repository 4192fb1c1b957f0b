import fc from "fast-check";
import { expect, test } from "vitest";
import { SteadyClock } from "../../../src/base/steady-clock.ts";
import { amountOf, type LedgerQuery } from "../../../src/policy/call-history.ts";
// Inside: a property of calls in random orders and times, without running them.
import { type LedgerEntry, LedgerScope, Ledgers } from "../../../src/sessions/ledger/ledgers.ts";

const TOOLS = ["send", "pay"] as const;
const SESSIONS = 3;
/** The principals of the sessions: two of them have the same. */
const PRINCIPALS = ["ann", "ann", "bob"] as const;

/** A call, as the model of the test knows it. */
interface Call {
  readonly entry: LedgerEntry;
  readonly session: number;
  readonly tool: string;
  amount: number | undefined;
  state: "under way" | "ended" | "released";
  isDone: boolean;
  isApproved: boolean;
  endedAt: number;
}

const amount = fc.option(fc.constantFrom(0, 0.1, 5, 1_000.01, -5), { nil: undefined });
const step = fc.oneof(
  fc.record({
    do: fc.constant("begin" as const),
    session: fc.nat({ max: SESSIONS - 1 }),
    tool: fc.constantFrom(...TOOLS),
    amount,
  }),
  fc.record({
    do: fc.constant("end" as const),
    which: fc.nat({ max: 5 }),
    isDone: fc.boolean(),
    isApproved: fc.boolean(),
  }),
  fc.record({ do: fc.constant("release" as const), which: fc.nat({ max: 5 }) }),
  fc.record({ do: fc.constant("revise" as const), which: fc.nat({ max: 5 }), amount }),
  fc.record({ do: fc.constant("wait" as const), ms: fc.nat({ max: 8 }) }),
  fc.record({
    do: fc.constant("ask" as const),
    session: fc.nat({ max: SESSIONS - 1 }),
    scope: fc.constantFrom("session" as const, "principal" as const),
    withinMs: fc.constantFrom(3, 10, Number.POSITIVE_INFINITY),
    tools: fc.constantFrom<readonly string[]>(["send"], ["pay"], TOOLS),
    only: fc.constantFrom(undefined, "done" as const, "approved" as const),
    amount: fc.constantFrom(undefined, "/amount"),
    own: fc.option(fc.nat({ max: 5 }), { nil: undefined }),
  }),
);

function inputOf(value: number | undefined): { readonly [key: string]: number } {
  return value === undefined ? {} : { amount: value };
}

test("a ledger counts and adds what a list of all calls has, or says that it does not know all of them", () => {
  let complete = 0;
  let incomplete = 0;
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 120, size: "max" }),
      fc.integer({ min: 1, max: 4 }),
      (steps, maxEntries) => {
        let time = 0;
        const ledgers = new Ledgers({
          maxEntries,
          clock: new SteadyClock({ wall: () => time, monotonic: () => time }),
        });
        const scopes = PRINCIPALS.map(() => new LedgerScope(ledgers));
        const calls: Call[] = [];
        const underWay = (which: number): Call | undefined =>
          calls.filter(({ state }) => state === "under way")[which];
        for (const each of steps) {
          switch (each.do) {
            case "begin": {
              const principal = PRINCIPALS[each.session] as string;
              const scope = scopes[each.session] as LedgerScope;
              const entry = ledgers.begin(each.tool, inputOf(each.amount), {
                ledgers: [scope.ledger, ledgers.ofPrincipal(principal)],
                principal,
                sessionId: String(each.session),
                turnId: "t",
              });
              const { session, tool } = each;
              calls.push({
                entry,
                session,
                tool,
                amount: each.amount,
                state: "under way",
                isDone: false,
                isApproved: false,
                endedAt: 0,
              });
              break;
            }
            case "end": {
              const call = underWay(each.which);
              if (call === undefined) break;
              call.entry.isApproved = each.isApproved;
              ledgers.end(call.entry, each.isDone);
              Object.assign(call, { ...each, state: "ended", endedAt: time });
              break;
            }
            case "release": {
              const call = underWay(each.which);
              if (call === undefined) break;
              ledgers.release(call.entry);
              call.state = "released";
              break;
            }
            case "revise": {
              const call = underWay(each.which);
              if (call === undefined) break;
              ledgers.revise(call.entry, inputOf(each.amount));
              call.amount = each.amount;
              break;
            }
            case "wait":
              time += each.ms;
              break;
            case "ask": {
              const principal = PRINCIPALS[each.session] as string;
              const own = each.own === undefined ? undefined : underWay(each.own);
              const isOfScope = (call: Call): boolean =>
                each.scope === "session"
                  ? call.session === each.session
                  : PRINCIPALS[call.session] === principal;
              const start = time - each.withinMs;
              const counted = calls.filter(
                (call) =>
                  isOfScope(call) &&
                  call !== own &&
                  each.tools.includes(call.tool) &&
                  (call.state === "under way" || (call.state === "ended" && call.endedAt > start)) &&
                  (each.only === undefined || call.isDone) &&
                  (each.only !== "approved" || call.isApproved),
              );
              const amounts = counted.map((call) => amountOf(call.amount));
              const { withinMs, scope, tools, only, amount: pointer } = each;
              const query: LedgerQuery = {
                key: JSON.stringify([String(withinMs), tools, only ?? null, pointer ?? null]),
                scope,
                withinMs,
                only,
                amount: pointer,
                matchesTool: (name) => tools.includes(name),
              };
              const ledger =
                scope === "session"
                  ? (scopes[each.session] as LedgerScope).ledger
                  : ledgers.ofPrincipal(principal);
              const tally = ledger.tally(query, time, own?.entry);
              const sum = amounts.reduce<bigint>((total, value) => total + (value ?? 0n), 0n);
              const isSummed = pointer !== undefined;
              const isAdded = !isSummed || amounts.every((value) => value !== undefined);
              if (tally.isComplete) {
                complete++;
                expect(tally).toMatchObject({ count: counted.length, sum: isSummed ? sum : 0n });
                expect(isAdded).toBe(true);
              } else {
                incomplete++;
                expect(tally.count).toBeLessThanOrEqual(counted.length);
                expect(tally.sum <= sum).toBe(true);
              }
              const hasEnded = ({ state }: Call): boolean => state === "ended";
              const kept = calls.filter((call) => hasEnded(call) && isOfScope(call)).length;
              const isAllKept = kept <= maxEntries && calls.filter(hasEnded).length <= maxEntries * 10;
              if (isAllKept) expect(tally.isComplete).toBe(isAdded);
            }
          }
        }
      },
    ),
    { numRuns: 2_000 },
  );
  // Both are frequent, or the test would show nothing.
  expect(complete).toBeGreaterThan(1_000);
  expect(incomplete).toBeGreaterThan(1_000);
});
