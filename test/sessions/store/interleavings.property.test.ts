import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MemorySessionStore } from "../../../src/sessions/store/memory-store.ts";
import { contentOf, OPERATIONS, type Operation, outcomeOf } from "./operations.ts";
import { storeTargets } from "./targets.ts";

/** Some operations at once, or opening the store again, as after a restart. */
type Step = readonly Operation[] | "reopen";

const STEP: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.array(OPERATIONS, { minLength: 1, maxLength: 3 }) },
  { weight: 1, arbitrary: fc.constant("reopen" as const) },
);

/** An order of operations that explains everything that was seen so far. */
interface History {
  readonly operations: readonly Operation[];
  readonly content: unknown;
}

describe.each(storeTargets())("A session store $name", ({ open, runs = 100 }) => {
  test("answers operations at once as if they came one after the other, and keeps what it answered", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(STEP, { minLength: 1, maxLength: 14 }), async (steps) => {
        await using place = await open();
        let store = await place.store();
        let histories: readonly History[] = [await replay([])];
        for (const step of steps) {
          if (step === "reopen") store = await place.reopen(store);
          else {
            const seen = await Promise.all(step.map((operation) => outcomeOf(operation, store)));
            histories = await explain(histories, step, seen);
            expect(histories, `no order explains ${text(step)}: ${JSON.stringify(seen)}`).not.toEqual([]);
          }
          const content = await contentOf(store);
          histories = histories.filter((history) => isDeepStrictEqual(history.content, content));
          expect(histories, `no order explains what there is after ${text(step)}`).not.toEqual([]);
        }
        await store.close();
      }),
      { numRuns: runs, seed: 23 },
    );
  });
});

/** Returns the histories, continued by the operations in each order in which they would have these outcomes. */
async function explain(
  histories: readonly History[],
  operations: readonly Operation[],
  outcomes: readonly unknown[],
): Promise<readonly History[]> {
  const found: History[] = [];
  for (const { operations: before } of histories) {
    for (const order of ordersOf(operations.map((_, index) => index))) {
      const store = await filled(before);
      let isSame = true;
      for (const index of order) {
        const outcome = await outcomeOf(operations[index] as Operation, store);
        if (!isDeepStrictEqual(outcome, outcomes[index])) isSame = false;
      }
      if (!isSame) continue;
      const content = await contentOf(store);
      const history = {
        operations: [...before, ...order.map((index) => operations[index] as Operation)],
        content,
      };
      if (!found.some((other) => isDeepStrictEqual(other.content, content))) found.push(history);
    }
  }
  return found;
}

async function replay(operations: readonly Operation[]): Promise<History> {
  return { operations, content: await contentOf(await filled(operations)) };
}

async function filled(operations: readonly Operation[]): Promise<MemorySessionStore> {
  const store = new MemorySessionStore();
  for (const operation of operations) await outcomeOf(operation, store);
  return store;
}

function ordersOf(indexes: readonly number[]): readonly (readonly number[])[] {
  if (indexes.length <= 1) return [indexes];
  return indexes.flatMap((first) =>
    ordersOf(indexes.filter((index) => index !== first)).map((rest) => [first, ...rest]),
  );
}

function text(step: Step): string {
  return step === "reopen" ? step : step.map((operation) => operation.text).join(", ");
}
