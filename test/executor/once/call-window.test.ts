import fc from "fast-check";
import { describe, expect, test } from "vitest";
// Inside: a property of random operations on a window of a few bytes; an executor's has 64 MiB.
import { CallWindow, type RequestIdentity } from "../../../src/executor/once/call-window.ts";

function call(name: string, caller = "caller"): RequestIdentity {
  return { caller, name, digest: "1" };
}

describe("CallWindow", () => {
  test("a call is remembered while it runs and after it has ended, until it is too old", () => {
    const window = new CallWindow<string>({ calls: 10, bytes: 1_000, ageMs: 5_000 });
    expect(window.find({ name: "a", digest: "1" }, 0)).toEqual({ state: "fresh" });
    window.begin(call("a"), "running");
    expect(window.find({ name: "a", digest: "1" }, 0)).toEqual({ state: "begun", call: "running" });
    window.end("a", "answer", 1_000);
    expect(window.find({ name: "a", digest: "1" }, 5_900)).toEqual({ state: "ended", answer: "answer" });
    expect(window.find({ name: "a", digest: "1" }, 7_000)).toEqual({ state: "fresh" });
    expect([window.size, window.bytes]).toEqual([0, 0]);
  });

  test("another call with the same name is a conflict", () => {
    const window = new CallWindow<string>({ calls: 10, bytes: 1_000, ageMs: 5_000 });
    window.begin(call("a"), "running");
    expect(window.find({ name: "a", digest: "2" }, 0)).toEqual({ state: "conflict" });
    window.end("a", "answer", 0);
    expect(window.find({ name: "a", digest: "2" }, 0)).toEqual({ state: "conflict" });
  });

  test("beyond the bytes, answers are forgotten, oldest first, but not that the calls ran", () => {
    const window = new CallWindow<string>({ calls: 10, bytes: 20, ageMs: 5_000 });
    for (const name of ["a", "b", "c"]) {
      window.begin(call(name), "");
      window.end(name, "12345", 0);
    }
    expect(window.bytes).toBe(20);
    expect(window.find({ name: "a", digest: "1" }, 0)).toEqual({ state: "ended" });
    expect(window.find({ name: "c", digest: "1" }, 0)).toEqual({ state: "ended", answer: "12345" });
    window.begin(call("d"), "");
    window.end("d", "longer than all of them", 0);
    expect(window.bytes).toBe(0);
    expect(window.find({ name: "d", digest: "1" }, 0)).toEqual({ state: "ended" });
  });

  test("the number of remembered calls is bounded", () => {
    const window = new CallWindow<string>({ calls: 2, bytes: 1_000, ageMs: 5_000 });
    for (const name of ["a", "b", "c"]) {
      window.begin(call(name), "");
      window.end(name, "x", 0);
    }
    expect(window.size).toBe(2);
    expect(window.find({ name: "a", digest: "1" }, 0)).toEqual({ state: "fresh" });
  });

  test("a caller with many calls or large answers does not make others' calls forgotten", () => {
    const window = new CallWindow<string>({ calls: 6, bytes: 100, ageMs: 5_000 });
    const run = (name: string, caller: string, answer: string): void => {
      window.begin(call(name, caller), "");
      window.end(name, answer, 0);
    };
    run("quiet", "b", "12345");
    for (let index = 0; index < 50; index++) run(`a${index}`, "a", "x");
    expect(window.find({ name: "quiet", digest: "1" }, 0)).toEqual({ state: "ended", answer: "12345" });
    run("large", "a", "x".repeat(46));
    expect(window.find({ name: "quiet", digest: "1" }, 0)).toEqual({ state: "ended", answer: "12345" });
    expect(window.find({ name: "a49", digest: "1" }, 0)).toEqual({ state: "ended" });
    expect(window.size).toBe(6);
  });

  test("a call that did not run is forgotten", () => {
    const window = new CallWindow<string>({ calls: 2, bytes: 1_000, ageMs: 5_000 });
    window.begin(call("a"), "");
    window.cancel("a");
    expect(window.find({ name: "a", digest: "1" }, 0)).toEqual({ state: "fresh" });
  });

  test("the calls that ended last are remembered with the newest answers that fit, in any order of operations", () => {
    const name = fc.constantFrom("a", "b", "c", "d", "e", "f");
    const step = fc.oneof(
      fc.record({ do: fc.constant("begin" as const), name }),
      fc.record({ do: fc.constant("cancel" as const), name }),
      fc.record({ do: fc.constant("end" as const), name, answer: fc.string({ maxLength: 8 }) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const bounds = { calls: 3, bytes: 24, ageMs: 5_000 };
        const window = new CallWindow<string>(bounds);
        const running = new Set<string>();
        let ended: { readonly name: string; readonly answer: string }[] = [];
        for (const each of steps) {
          const isKnown = running.has(each.name) || ended.some((other) => other.name === each.name);
          if (each.do === "begin") {
            if (isKnown) continue;
            window.begin(call(each.name), each.name);
            running.add(each.name);
          } else if (each.do === "cancel") {
            window.cancel(each.name);
            running.delete(each.name);
          } else {
            window.end(each.name, each.answer, 0);
            if (running.delete(each.name)) ended = [...ended, each].slice(-bounds.calls);
          }
        }
        // The newest answers that fit together are kept.
        let bytes = 0;
        const kept = ended.toReversed().map((each) => {
          bytes += each.answer.length * 2;
          return bytes <= bounds.bytes ? { state: "ended", answer: each.answer } : { state: "ended" };
        });
        expect(ended.toReversed().map((each) => window.find({ ...each, digest: "1" }, 0))).toEqual(kept);
        expect([window.size, window.runningSize]).toEqual([ended.length, running.size]);
        expect(new Set(window.running)).toEqual(running);
      }),
    );
  });

  test("a call that ended after the last forgotten one is known, whatever was forgotten", () => {
    const step = fc.record({
      name: fc.integer({ min: 0, max: 30 }).map(String),
      caller: fc.constantFrom("a", "b", "c"),
      ms: fc.integer({ min: 0, max: 3_000 }),
      answer: fc.option(fc.string({ maxLength: 8 }), { nil: undefined }),
    });
    let forgotten = 0;
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const window = new CallWindow<string>({ calls: 4, bytes: 24, ageMs: 5_000 });
        const endedAt = new Map<string, number>();
        let now = 0;
        for (const { name, caller, ms, answer } of steps) {
          now += ms;
          if (endedAt.has(name)) continue;
          window.begin(call(name, caller), name);
          window.end(name, answer, now);
          endedAt.set(name, now);
        }
        for (const [name, at] of endedAt) {
          if (window.find({ name, digest: "1" }, now).state !== "fresh") continue;
          forgotten++;
          expect(window.forgottenUntil).toBeGreaterThanOrEqual(at);
        }
      }),
    );
    expect(forgotten).toBeGreaterThan(0);
  });
});
