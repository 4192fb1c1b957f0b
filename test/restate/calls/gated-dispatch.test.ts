import { describe, expect, test } from "vitest";
// Inside: stops a dispatch at each of its gates, and begins it anew, without a process that is lost.
import {
  type Answered,
  GatedDispatch,
  type StartDispatch,
} from "../../../src/restate/calls/gated-dispatch.ts";
import type {
  Confirmation,
  NewConfirmation,
  Resolution,
} from "../../../src/sessions/confirmations/confirmation.ts";
import type { Confirmer } from "../../../src/sessions/confirmations/confirmation-broker.ts";
import { CONFIRMATION, executionOf } from "../../sessions/store/records.ts";

const { id: _id, askedAt: _askedAt, expiresAt: _expiresAt, ...QUESTION } = CONFIRMATION;
const question = { ...QUESTION } as NewConfirmation;
const ALLOWED: Resolution = { decision: "allow", choice: "allow", by: "ann", at: 1 };
const answered = (given: NewConfirmation = question, resolution: Resolution = ALLOWED): Answered => ({
  question: given,
  resolution,
  confirmation: { ...given, id: "i", askedAt: 0, expiresAt: 1 } as Confirmation,
});
const EXECUTION = executionOf("call");

/** Asks people of a call that runs. */
const live: Confirmer = { timeoutMs: 1_000, earlier: () => [], ask: async () => "nobody" };
const dispatchOf = (start: StartDispatch) =>
  new GatedDispatch({ idempotencyKey: "key", start, confirmations: live });

describe("A gated dispatch", () => {
  test("stops before a person is asked, and before its effect", async () => {
    const steps: string[] = [];
    const dispatch = dispatchOf(async (gates) => {
      const resolution = await gates.confirmations.ask(question);
      steps.push(typeof resolution === "string" ? resolution : resolution.decision);
      await gates.begin({ isRepeatable: false });
      steps.push("effect");
      return EXECUTION;
    });
    expect(await dispatch.advance([])).toEqual({ kind: "asks", question, timeoutMs: 1_000 });
    expect(await dispatch.advance([answered()])).toEqual({ kind: "begins", isRepeatable: false });
    expect([steps, dispatch.hasBegun]).toEqual([["allow"], false]);
    expect(await dispatch.run([answered()], false)).toBe(EXECUTION);
    expect([steps, dispatch.hasBegun]).toEqual([["allow", "effect"], true]);
  });

  test("that begins anew uses the answers that were given, and does not ask again", async () => {
    const dispatch = dispatchOf(async (gates) => {
      await gates.confirmations.ask(question);
      await gates.begin({ isRepeatable: true });
      return EXECUTION;
    });
    expect(await dispatch.run([answered()], false)).toBe(EXECUTION);
  });

  test("that begins anew does not use an answer to another question", async () => {
    const other = { ...question, digest: "f".repeat(64) };
    const dispatch = dispatchOf(async (gates) => {
      const resolution = await gates.confirmations.ask(other);
      return resolution === "nobody" ? EXECUTION : null;
    });
    expect(await dispatch.run([answered()], false)).toBe(EXECUTION);
  });

  test("ends if it is cancelled while a person is asked, even when the answer comes later", async () => {
    const dispatch = dispatchOf(async (gates) => {
      const cancelled = new Promise((resolve) => gates.signal.addEventListener("abort", resolve));
      await Promise.race([cancelled, gates.confirmations.ask(question)]);
      return EXECUTION;
    });
    await dispatch.advance([]);
    dispatch.cancel();
    await new Promise(setImmediate);
    expect(await dispatch.advance([answered()])).toEqual({ kind: "ended", execution: EXECUTION });
  });

  test("has no effect once it was abandoned", async () => {
    let hasRun = false;
    const dispatch = dispatchOf(async (gates) => {
      await gates.begin({ isRepeatable: false });
      hasRun = true;
      return EXECUTION;
    });
    await dispatch.advance([]);
    dispatch.abandon();
    await expect(dispatch.run([], false)).rejects.toThrow("continues in another process");
    expect(hasRun).toBe(false);
  });

  test("ends when it is abandoned while it waits to begin, so that its turn does not wait for it", async () => {
    const ended = Promise.withResolvers<unknown>();
    const dispatch = dispatchOf(async (gates) => {
      await gates.begin({ isRepeatable: false }).catch(ended.resolve);
      return null;
    });
    await dispatch.advance([]);
    dispatch.abandon();
    expect(String(await ended.promise)).toContain("continues in another process");
  });

  test("asks at most eight times before it begins", async () => {
    let asked = 0;
    const dispatch = dispatchOf(async (gates) => {
      for (;;) {
        const next = { ...question, digest: String(asked) } as NewConfirmation;
        if ((await gates.confirmations.ask(next)) === "nobody") return EXECUTION;
        asked++;
      }
    });
    const answers: Answered[] = [];
    for (;;) {
      const stop = await dispatch.advance(answers);
      if (stop.kind !== "asks") break;
      answers.push(answered(stop.question));
    }
    expect(asked).toBe(8);
  });

  test("rejects if the call cannot be dispatched here, and cannot go on", async () => {
    const dispatch = dispatchOf(async () => {
      throw new Error("the session cannot be read");
    });
    await expect(dispatch.advance([])).rejects.toThrow("cannot be read");
    expect(dispatch.canGoOn).toBe(false);
  });
});
