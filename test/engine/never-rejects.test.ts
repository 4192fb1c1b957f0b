import fc from "fast-check";
import { expect, test } from "vitest";
import type { DispatchContext } from "../../src/engine/context.ts";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ERROR_CODES } from "../../src/engine/errors.ts";
import { allow } from "../../src/policy/policy.ts";
import { contextFor, hostTool, recordEvents } from "./helpers.ts";

const engine = new ToolDispatchEngine();

/** What somebody's code may do instead of its work: answer anything, throw anything, now or later, or never. */
const misbehaviour = (answers: fc.Arbitrary<unknown>): fc.Arbitrary<() => unknown> =>
  fc.oneof(
    answers.map((answer) => () => answer),
    answers.map((answer) => async () => answer),
    fc.anything().map((thrown) => () => {
      throw thrown;
    }),
    fc.anything().map((thrown) => () => Promise.reject(thrown)),
    fc.constant(() => new Promise(() => {})),
    fc.constant(
      () =>
        new Proxy(
          {},
          {
            get: () => {
              throw new Error("trapped");
            },
          },
        ),
    ),
    fc.constant(() => ({
      // biome-ignore lint/suspicious/noThenProperty: a thenable that misbehaves is the case
      get then() {
        throw new Error("trapped");
      },
    })),
  );

const call = fc.oneof(
  fc.record({
    id: fc.string(),
    name: fc.oneof(fc.constant("tool"), fc.string({ unit: "binary" })),
    arguments: fc.oneof(fc.constant("{}"), fc.json(), fc.string(), fc.object(), fc.anything()),
  }),
  fc.anything(),
);

test("dispatch gives one result for any call and any behaviour of tool, hooks, policy and listeners, and never rejects", async () => {
  const decisions = fc.oneof(
    fc.constant(allow({ sandbox: "host", limits: { wallTimeMs: 5 } })),
    fc.anything(),
  );
  const property = fc.asyncProperty(
    call,
    misbehaviour(fc.anything()),
    fc.option(misbehaviour(fc.constantFrom(undefined, "continue", "abort", { deny: "no" }, 7))),
    fc.option(misbehaviour(decisions)),
    fc.option(misbehaviour(fc.anything())),
    async (candidate, tool, hook, check, listener) => {
      const { events, seen } = recordEvents();
      if (listener !== null) events.on(listener);
      const ctx = await contextFor([hostTool(tool)], {
        events,
        decisionTimeoutMs: 5,
        policy: { check: () => allow({ sandbox: "host", limits: { wallTimeMs: 5 } }) },
        ...(hook !== null && { hooks: { onToolCall: hook, onToolStart: hook } }),
        ...(check !== null && { policy: { check } }),
      } as Partial<DispatchContext>);
      const execution = await engine.dispatch(candidate as never, ctx);
      const ends = seen.filter(({ type }) => /aborted|completed|failed/.test(type));
      expect(ends).toHaveLength(1);
      if (execution === null) return;
      expect(execution.success).toBe(execution.error === undefined);
      if (execution.error) expect(ERROR_CODES).toContain(execution.error.code);
      expect(() => JSON.stringify(execution)).not.toThrow();
    },
  );
  await fc.assert(property, { numRuns: 500 });
});
