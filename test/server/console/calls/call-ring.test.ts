import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { DispatchEvent } from "../../../../src/engine/call/events.ts";
import { NOTHING_RAN } from "../../../../src/engine/call/execution.ts";
import { CallProgress, linkProgress } from "../../../../src/engine/reporting/progress.ts";
import type { JsonValue } from "../../../../src/json/value.ts";
// Inside: a ring with room for three calls, and events in any order; a server's has room for many more.
import { CallRing } from "../../../../src/server/console/calls/call-ring.ts";
import { boundedJson } from "../../../../src/server/console/calls/console-call.ts";

type Body =
  | { readonly type: "tool.decided" }
  | { readonly type: "tool.aborted" }
  | { readonly type: "end"; readonly output?: JsonValue };

function event(callId: string, body: Body, more: Partial<DispatchEvent> = {}): DispatchEvent {
  const base = { callId, sessionId: "s", toolName: "t", at: 1_000 };
  if (body.type === "tool.decided")
    return {
      ...base,
      type: "tool.decided",
      decision: "allow",
      rules: [],
      durationMs: 1,
      ...more,
    } as DispatchEvent;
  if (body.type === "tool.aborted") return { ...base, type: "tool.aborted", ...more } as DispatchEvent;
  const execution = {
    callId,
    toolName: "t",
    arguments: {},
    success: true,
    output: body.output ?? null,
    durationMs: 3,
    sandbox: "host" as const,
    receipt: NOTHING_RAN,
  };
  return { ...base, type: "tool.completed", execution, rules: [], ...more } as DispatchEvent;
}

function ringOf(bounds?: { calls: number; bytes: number }): CallRing {
  return new CallRing({ sideEffectsOf: () => "read", sessionOf: () => undefined }, () => {}, bounds);
}

const numbers = (records: Iterable<{ readonly number: number }>): number[] =>
  [...records].map(({ number }) => number);

describe("the ring of calls", () => {
  test("keeps the latest calls, bounded by their number", () => {
    const ring = ringOf({ calls: 3, bytes: 1e9 });
    for (let call = 1; call <= 10; call++) ring.take("session", event(`c${call}`, { type: "end" }));
    expect(numbers(ring.before())).toEqual([10, 9, 8]);
    expect(numbers(ring.before(9))).toEqual([8]);
    expect(ring.get(7)).toBeUndefined();
  });

  test("keeps fewer calls if they are large, whatever their ids, outputs and logs are", () => {
    const ring = ringOf({ calls: 10_000, bytes: 1_000_000 });
    const huge = "x".repeat(5_000_000);
    for (let call = 1; call <= 100; call++)
      ring.take("session", event(`c${call}`, { type: "end", output: huge }));
    expect(ring.size).toBeGreaterThan(10);
    expect(ring.size).toBeLessThan(40);
    ring.take("session", event(huge, { type: "tool.decided" }));
    expect(ring.size).toBeLessThan(2);
    for (let line = 0; line < 1_000; line++)
      ring.take(
        "session",
        event("d", { type: "tool.decided" }, { type: "tool.output", chunk: "y".repeat(10_000) } as never),
      );
    expect(ring.size).toBe(1);
    expect(ring.get(numbers(ring.before())[0] ?? 0)?.logChars).toBeLessThan(20_000);
  });

  test("tells two calls apart that run with the same id at the same time", () => {
    const ring = ringOf();
    const [one, other] = [new CallProgress(), new CallProgress()];
    const take = (progress: CallProgress, body: Body): void => {
      const taken = event("c", body);
      linkProgress(taken, progress);
      ring.take("session", taken);
    };
    take(one, { type: "tool.decided" });
    take(other, { type: "tool.decided" });
    take(one, { type: "end", output: "of the first" });
    expect([...ring.before()].map(({ state, output }) => [state, output])).toEqual([
      ["running", undefined],
      ["completed", '"of the first"'],
    ]);
    take(other, { type: "end", output: "of the second" });
    expect([...ring.before()].map(({ output }) => output)).toEqual(['"of the second"', '"of the first"']);
  });

  test("gives the answer to a question to the call that asked it, if two of the same id wait", () => {
    const ring = ringOf();
    for (let call = 0; call < 2; call++) {
      const decided = event("c", { type: "tool.decided" });
      linkProgress(decided, new CallProgress());
      ring.take("session", decided);
    }
    const question = (type: string, requestId: string): DispatchEvent =>
      event("c", { type: "tool.decided" }, { type, requestId, kind: "plan" } as never);
    ring.take("session", question("tool.confirmation_requested", "q1"));
    ring.take("session", question("tool.confirmation_requested", "q2"));
    ring.take("session", question("tool.confirmation_resolved", "q1"));
    expect([...ring.before()].map(({ state, requestId }) => [state, requestId]).sort()).toEqual([
      ["running", "q1"],
      ["waiting", "q2"],
    ]);
  });

  test("keeps calls apart however the events of calls with few ids are interleaved", () => {
    const ids = fc.array(fc.tuple(fc.constantFrom("a", "b"), fc.nat()), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(ids, (calls) => {
        const ring = ringOf();
        const progresses = calls.map(() => new CallProgress());
        const take = (index: number, body: Body): void => {
          const taken = event(calls[index]?.[0] ?? "", body);
          linkProgress(taken, progresses[index] as CallProgress);
          ring.take("session", taken);
        };
        const order = [...calls.keys()].sort((x, y) => (calls[x]?.[1] ?? 0) - (calls[y]?.[1] ?? 0));
        for (const index of calls.keys()) take(index, { type: "tool.decided" });
        for (const index of order) take(index, { type: "end", output: index });
        expect([...ring.before()].map(({ output }) => Number(output)).reverse()).toEqual([...calls.keys()]);
      }),
    );
  });

  test("tells calls of sessions from calls of the executor with the same ids", () => {
    const ring = ringOf();
    ring.take("session", event("c", { type: "tool.decided" }));
    ring.take("executor", event("c", { type: "end" }));
    expect([...ring.before()].map(({ origin, state }) => [origin, state])).toEqual([
      ["executor", "completed"],
      ["session", "running"],
    ]);
  });

  test("has the changes since any time, for any order of events", () => {
    const action = fc.tuple(
      fc.constantFrom("a", "b", "c", "d"),
      fc.constantFrom("tool.decided", "end", "tool.aborted"),
    );
    fc.assert(
      fc.property(
        fc.array(action, { maxLength: 60 }),
        fc.nat(60),
        fc.integer({ min: 1, max: 5 }),
        (actions, cut, calls) => {
          const ring = ringOf({ calls, bytes: 1e9 });
          const take = ([id, type]: (typeof actions)[number]): void =>
            ring.take("session", event(id, { type } as Body));
          actions.slice(0, cut).forEach(take);
          const seen = ring.changes;
          actions.slice(cut).forEach(take);
          const changed = [...ring.before()].filter((record) => record.changed > seen);
          const expected = changed.toSorted((a, b) => b.changed - a.changed);
          expect(numbers(ring.changedSince(seen))).toEqual(numbers(expected));
          expect(ring.size).toBeLessThanOrEqual(calls);
        },
      ),
    );
  });

  test("names the calling call of a nested one", () => {
    const ring = ringOf();
    ring.take("session", event("outer", { type: "tool.decided" }));
    ring.take("session", event("inner", { type: "tool.decided" }, { parent: "outer" } as never));
    expect(ring.get(2)?.parent).toBe(1);
  });

  test("knows the calling call of one that the policy was asked about first", () => {
    const ring = ringOf();
    const request = { callId: "inner", sessionId: "s", tool: { name: "t" }, input: {} };
    ring.take("session", event("outer", { type: "tool.decided" }));
    ring.ask("session", request as never, {} as never);
    expect(ring.get(2)?.parent).toBeUndefined();
    ring.take("session", event("inner", { type: "tool.decided" }, { parent: "outer" } as never));
    expect(ring.get(2)?.parent).toBe(1);
  });
});

test("a bounded JSON text is the beginning of the whole one, or all of it", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.nat(80), (value, chars) => {
      const { text, isCut } = boundedJson(value as JsonValue, chars);
      const whole = JSON.stringify(JSON.parse(JSON.stringify(value)));
      if (isCut) expect(text.length).toBeLessThanOrEqual(chars);
      else expect(text).toBe(whole);
    }),
  );
});
