import fc from "fast-check";
import { describe, expect, test } from "vitest";
// Inside: a property of random orders of entering and leaving, which requests over HTTP would not have.
import { Admission } from "../../../src/executor/once/admission.ts";

/** Enters calls by session and name, and logs which are started and refused, in order. */
function entering(admission: Admission): {
  readonly log: string[];
  enter(session: string, name: string, caller?: string): "refused" | (() => boolean);
} {
  const log: string[] = [];
  return {
    log,
    enter: (session, name, caller = "caller") =>
      admission.enter(
        { caller, session },
        () => log.push(`start ${name}`),
        () => log.push(`refuse ${name}`),
      ),
  };
}

describe("admission", () => {
  test("admission starts as many calls as may run, and the next one when one ends", () => {
    const admission = new Admission(2, 10);
    const { log, enter } = entering(admission);
    for (const name of ["1", "2", "3"]) enter("a", name);
    expect(log).toEqual(["start 1", "start 2"]);
    admission.release("caller");
    expect(log).toEqual(["start 1", "start 2", "start 3"]);
    expect([admission.inFlight, admission.queued]).toEqual([2, 0]);
  });

  test("sessions take turns, no matter how many calls one has", () => {
    const admission = new Admission(1, 10);
    const { log, enter } = entering(admission);
    for (const name of ["a0", "a1", "a2", "a3"]) enter("a", name);
    enter("b", "b1");
    enter("c", "c1");
    enter("c", "c2");
    for (let count = 0; count < 6; count++) admission.release("caller");
    expect(log).toEqual(["start a0", "start a1", "start b1", "start c1", "start a2", "start c2", "start a3"]);
  });

  test("a full queue refuses calls, except those of a session with fewer calls, which replace others", () => {
    const admission = new Admission(1, 3);
    const { log, enter } = entering(admission);
    for (const name of ["a0", "a1", "a2", "a3"]) enter("a", name);
    expect(enter("a", "a4")).toBe("refused");
    expect(enter("b", "b1")).not.toBe("refused");
    expect(log).toEqual(["start a0", "refuse a3"]);
    // With two calls of `a` and one of `b`, a second one of `b` would only turn this around.
    expect(enter("b", "b2")).toBe("refused");
    expect(enter("c", "c1")).not.toBe("refused");
    expect(enter("d", "d1")).toBe("refused");
  });

  test("a caller that fills everything through many sessions does not shut out another one", () => {
    const admission = new Admission(4, 8);
    const { log, enter } = entering(admission);
    for (let index = 0; index < 12; index++) enter(`s${index}`, `a${index}`, "a");
    expect(enter("s12", "a12", "a")).toBe("refused");
    expect(enter("s", "b0", "b")).not.toBe("refused");
    expect(log.slice(4)).toEqual(["refuse a11"]);
    admission.release("a");
    expect(log.at(-1)).toBe("start b0");
  });

  test("a free place goes to the caller with the fewest running calls", () => {
    const admission = new Admission(4, 20);
    const { log, enter } = entering(admission);
    for (let index = 0; index < 8; index++) enter("s", `a${index}`, "a");
    for (let index = 0; index < 4; index++) enter("s", `b${index}`, "b");
    // The calls of `a` that run first do not end. Those of `b` do, but `b` gets no more than its half.
    admission.release("a");
    admission.release("a");
    expect(log.slice(4)).toEqual(["start b0", "start b1"]);
    admission.release("b");
    admission.release("b");
    expect(log.slice(6)).toEqual(["start b2", "start b3"]);
    admission.release("b");
    admission.release("b");
    expect(log.slice(8)).toEqual(["start a4", "start a5"]);
  });

  test("a call that leaves the queue does not start", () => {
    const admission = new Admission(1, 3);
    const { log, enter } = entering(admission);
    enter("a", "1");
    const leave = enter("a", "2");
    enter("a", "3");
    if (leave === "refused") throw new Error("the call was refused");
    expect(leave()).toBe(true);
    expect(leave()).toBe(false);
    admission.release("caller");
    expect(log).toEqual(["start 1", "start 3"]);
  });

  test("each call starts, leaves or is refused exactly once, and the bounds are never exceeded", () => {
    const step = fc.oneof(
      fc.record({
        kind: fc.constant("enter" as const),
        caller: fc.constantFrom("x", "y"),
        session: fc.constantFrom("a", "b", "c"),
      }),
      fc.record({
        kind: fc.constantFrom("release" as const, "leave" as const),
        caller: fc.constant(""),
        session: fc.constant(""),
      }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const admission = new Admission(2, 3);
        const ends: string[][] = [];
        const leaves: (() => boolean)[] = [];
        const running: string[] = [];
        for (const { kind, caller, session } of steps) {
          if (kind === "enter") {
            const own: string[] = [];
            ends.push(own);
            const start = (): void => {
              own.push("start");
              running.push(caller);
            };
            const place = admission.enter({ caller, session }, start, () => own.push("refuse"));
            if (place === "refused") own.push("refuse");
            else leaves.push(() => place() && own.push("leave") > 0);
          } else if (kind === "leave") leaves.pop()?.();
          else if (running.length > 0) admission.release(running.shift() ?? "");
          expect(running.length).toBe(admission.inFlight);
          expect(admission.inFlight).toBeLessThanOrEqual(2);
          expect(admission.queued).toBeLessThanOrEqual(3);
        }
        while (running.length > 0) admission.release(running.shift() ?? "");
        expect(ends.every((own) => own.length === 1)).toBe(true);
        expect([admission.inFlight, admission.queued]).toEqual([0, 0]);
      }),
    );
  });
});
