import fc from "fast-check";
import { expect, test } from "vitest";
import type { DispatchContext } from "../../src/engine/call/context.ts";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ERROR_CODES } from "../../src/engine/errors.ts";
import { allow } from "../../src/policy/policy.ts";
import { contextFor, hostTool, recordEvents } from "./helpers.ts";

const engine = new ToolDispatchEngine();

/** Throws whenever it is accessed: even `instanceof` runs a trap. */
const hostile: unknown = new Proxy(() => {}, {
  get: throwHostile,
  has: throwHostile,
  getPrototypeOf: throwHostile,
  ownKeys: throwHostile,
});

function throwHostile(): never {
  throw hostile;
}

/** A native promise with another `then`. */
const oddPromise = (then: unknown): unknown => Object.assign(Promise.resolve(1), { then });

const HOSTILE_ANSWERS: readonly (() => unknown)[] = [
  () => hostile,
  throwHostile,
  () => Promise.reject(hostile),
  () => oddPromise(throwHostile),
  () => oddPromise(() => undefined),
  () => oddPromise((resolve: (value: unknown) => void) => resolve(hostile)),
  // biome-ignore lint/suspicious/noThenProperty: a thenable that misbehaves is the case
  () => Object.defineProperty({}, "then", { get: throwHostile }),
  () => Object.defineProperty({}, "deny", { get: throwHostile, enumerable: true }),
  () => Object.defineProperty({}, "decision", { get: throwHostile, enumerable: true }),
  () => ({ deny: { toString: throwHostile } }),
  () => ({ deny: Object.create(null) }),
  () => ({ decision: "deny", reason: hostile }),
  () => ({ decision: "allow", grant: hostile }),
  () => ({ decision: "allow", grant: { sandbox: "host", limits: hostile } }),
];

/** Foreign code that misbehaves: it returns or throws anything, at once or later, or never settles. */
const misbehaviour = (answers: fc.Arbitrary<unknown>): fc.Arbitrary<() => unknown> =>
  fc.oneof(
    answers.map((answer) => () => answer),
    answers.map((answer) => async () => answer),
    fc.anything().map((thrown) => () => {
      throw thrown;
    }),
    fc.anything().map((thrown) => () => Promise.reject(thrown)),
    fc.constant(() => new Promise(() => {})),
    fc.constantFrom(...HOSTILE_ANSWERS),
  );

const call = fc.oneof(
  fc.record({
    id: fc.string(),
    name: fc.oneof(fc.constant("tool"), fc.string({ unit: "binary" })),
    arguments: fc.oneof(fc.constant("{}"), fc.json(), fc.string(), fc.object(), fc.anything()),
  }),
  fc.anything(),
);

test("dispatch never rejects and returns one result for any call, tool, hook, policy and listener", async () => {
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

test.each(
  HOSTILE_ANSWERS.map((answer) => [String(answer), answer] as const),
)("a call is denied if a hook or the policy returns an unreadable value: %s", async (_text, answer) => {
  const hooks = [{ onToolCall: answer }, { onToolStart: answer }] as unknown as DispatchContext["hooks"][];
  const contexts: Partial<DispatchContext>[] = [{ policy: { check: answer as never } }];
  for (const hook of hooks) contexts.push({ hooks: hook as NonNullable<DispatchContext["hooks"]> });
  for (const context of contexts) {
    let ran = false;
    const tool = hostTool(() => {
      ran = true;
    });
    const ctx = await contextFor([tool], { ...context, decisionTimeoutMs: 5 });
    const execution = await engine.dispatch({ id: "1", name: "tool", arguments: {} }, ctx);
    expect(execution?.error).toMatchObject({ code: "permission_denied", effect: "none" });
    expect(ran).toBe(false);
  }
});

test.each(
  HOSTILE_ANSWERS.map((answer) => [String(answer), answer] as const),
)("a tool that returns an unreadable value has one result: %s", async (_text, answer) => {
  const policy = { check: () => allow({ sandbox: "host", limits: { wallTimeMs: 5 } }) };
  const ctx = await contextFor([hostTool(answer)], { policy });
  const execution = await engine.dispatch({ id: "1", name: "tool", arguments: {} }, ctx);
  expect(() => JSON.stringify(execution)).not.toThrow();
  expect(Object.isFrozen(execution?.receipt)).toBe(true);
});
