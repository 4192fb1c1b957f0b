import assert from "node:assert";
import {
  allow,
  defineTool,
  openSandboxes,
  type PolicyDecision,
  type PolicyRequest,
  type PolicyRule,
  RulePolicy,
  ToolRegistry,
} from "sandgate";
import { openSessions } from "sandgate/sessions";
import type { Case, OpenCase, Question } from "../harness/case.ts";

const EVENTS = [1, 1_000, 1_000_000];
const IN_FLIGHT = 64;

const RULE: PolicyRule = { tools: ["pay"], effect: "allow", sandboxes: ["host"] };
const WITHOUT = new RulePolicy({ rules: [{ ...RULE, when: { "/amount": { range: { min: 0 } } } }] });
const WITH = new RulePolicy({
  rules: [
    {
      ...RULE,
      history: [
        { count: ["pay", "send_*"], within: "1h", lessThan: 10_000_000 },
        { count: ["pay"], in: "session", lessThan: 10_000_000 },
        { sum: "/amount", of: ["pay"], within: "24h", atMost: 10_000_000_000, by: "principal" },
        { after: ["pay"], within: "1h" },
      ],
    },
  ],
});
const CONDITIONS = 4;
const ALLOWED = allow({ sandbox: "host" });

/** What a condition on earlier calls costs, by how many there were. */
export const ledger: Question = {
  name: "policy-ledger",
  scale: "earlier calls",
  cases: [
    { name: "decision of a rule without such conditions", open: () => openDecision(WITHOUT, 1) },
    ...EVENTS.map(
      (events): Case => ({
        name: `condition on ${events} earlier calls`,
        at: events,
        calls: CONDITIONS,
        open: () => openDecision(WITH, events),
      }),
    ),
  ],
};

/** Decides again and again on a call that has begun after so many others. */
async function openDecision(policy: RulePolicy, events: number): Promise<OpenCase> {
  const sandboxes = await openSandboxes();
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  let last: PolicyRequest | undefined;
  const registry = new ToolRegistry().register(
    defineTool({
      name: "pay",
      description: "",
      inputSchema: { type: "object", properties: { amount: { type: "number" } }, required: ["amount"] },
      sideEffects: "none",
      host: async ({ amount }: { amount: number }) => {
        if (amount === 0) await held;
        return "paid";
      },
    }),
  );
  const sessions = await openSessions({
    // The last call has to be under way all the time.
    timeouts: { quick: 3_600_000, slow: 3_600_000 },
    registry,
    sandboxes,
    limits: { ledgerEntries: 2 * events, concurrency: IN_FLIGHT },
    policy: {
      usesHistory: true,
      check: (request) => {
        last = request;
        return ALLOWED;
      },
    },
  });
  const session = await sessions.open({ principal: { id: "ann", kind: "user" } });
  for (let count = 0; count < events; count += IN_FLIGHT) {
    const turn = session.turn();
    const calls = Math.min(IN_FLIGHT, events - count);
    await Promise.all(
      Array.from({ length: calls }, () =>
        turn.dispatch({ id: "call", name: "pay", arguments: { amount: 12.34 } }),
      ),
    );
  }
  const waiting = session.turn().dispatch({ id: "call", name: "pay", arguments: { amount: 0 } });
  const request = last as unknown as PolicyRequest;
  assert(JSON.stringify(request.input) === '{"amount":0}');
  return {
    run: () => policy.check(request),
    check: (decision) => assert((decision as PolicyDecision).decision === "allow"),
    close: async () => {
      release();
      await waiting;
      await sessions.close();
      await sandboxes.close();
    },
  };
}
