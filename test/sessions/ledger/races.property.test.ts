import fc from "fast-check";
import { expect, test } from "vitest";
import { RulePolicy } from "../../../src/policy/rule/rule-policy.ts";
import { ToolFailure } from "../../../src/tool/tool-failure.ts";
import { answerTo, call, testSessions, tool } from "../harness.ts";

const LIMIT = 100;

const plannedCall = fc.record({
  amount: fc.constantFrom(0.1, 20, 33.3, 60, 100, 101, -1),
  asks: fc.boolean(),
  outcome: fc.constantFrom("success", "none", "unknown", "slow"),
  answer: fc.constantFrom("allow", "deny", "edit", "wait"),
});

/** Amounts are tenths here, so that they are exact. */
const tenths = (amount: number): number => Math.round(amount * 10);

test("the amounts of all calls that took effect stay within the limit, whatever people and tools do", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(plannedCall, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 4 }),
      fc.nat({ max: 30 }),
      async (messages, cancelAfter) => {
        const effects: number[] = [];
        const pay = tool("pay", "write", async ({ amount, outcome }) => {
          if (outcome === "slow") await new Promise(setImmediate);
          if (outcome === "none") throw new ToolFailure("execution_error", "no", { effect: "none" });
          effects.push(tenths(amount as number));
          if (outcome === "unknown") throw new Error("no");
          return "paid";
        });
        const history = [
          { sum: "/amount", of: ["pay"], within: "1h", atMost: LIMIT, by: "principal" },
        ] as const;
        const policy = new RulePolicy({
          rules: [
            { tools: ["pay"], effect: "allow", sandboxes: ["host"], history },
            { tools: ["pay"], effect: "ask", when: { "/asks": { equals: true } } },
          ],
        });
        const { sessions } = await testSessions([pay], {
          policy,
          confirmations: { default: { write: "auto" } },
        });
        const principal = { id: "ann", kind: "user" } as const;
        sessions.onConfirmation((event) => {
          const { type, confirmation } = event;
          if (type !== "requested" || confirmation.kind === "question") return;
          const input = JSON.parse(confirmation.shown.arguments) as { amount: number; answer: string };
          if (input.answer === "wait") return;
          const decision = input.answer === "deny" ? "deny" : "allow";
          const edited = { ...input, amount: input.amount * 2, asks: true };
          void sessions.answer(confirmation.id, {
            ...answerTo(confirmation, decision),
            ...(input.answer === "edit" && { arguments: edited }),
          });
        });
        const turns = await Promise.all(
          messages.map(async () => (await sessions.open({ principal })).turn()),
        );
        const results = messages.map((calls, index) =>
          turns[index]?.dispatchAll(calls.map((each, number) => call(`c${number}`, "pay", { ...each }))),
        );
        for (let ticks = 0; ticks < cancelAfter + 5; ticks++) await new Promise(setImmediate);
        await Promise.all(turns.map((turn) => turn.cancel()));
        await Promise.all(results);
        const spent = effects.reduce((sum, amount) => sum + amount, 0);
        expect(spent).toBeLessThanOrEqual(LIMIT * 10);
        // What is left can be spent, and not more: nothing was kept that had no effect.
        const rest = LIMIT - spent / 10;
        const more = (await sessions.open({ principal })).turn();
        const last = async (amount: number): Promise<boolean> =>
          (await more.dispatch(call("c", "pay", { amount, asks: false, outcome: "success" })))?.success ===
          true;
        expect(await last(Math.round(rest * 10) / 10 + 0.1)).toBe(false);
        expect(await last(Math.round(rest * 10) / 10)).toBe(true);
        await sessions.close();
      },
    ),
    { numRuns: 150 },
  );
}, 60_000);
