import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SteadyClock } from "../../../src/base/steady-clock.ts";
import type { PersonAnswer } from "../../../src/sessions/confirmations/answer.ts";
import type {
  Confirmation,
  NewConfirmation,
  Resolution,
} from "../../../src/sessions/confirmations/confirmation.ts";
import type { ConfirmationEvent } from "../../../src/sessions/confirmations/confirmation-broker.ts";
// Inside: sets the clock, has the store fail, and answers while the store writes.
import {
  LocalConfirmations,
  type LocalConfirmationsOptions,
} from "../../../src/sessions/confirmations/local-confirmations.ts";
import { MemorySessionStore } from "../../../src/sessions/store/memory-store.ts";
import { CALL, CONFIRMATION, executionOf, MESSAGE, SESSION } from "../store/records.ts";

const { id: _, askedAt: __, expiresAt: ___, ...QUESTION } = CONFIRMATION;
const ANSWER: PersonAnswer = { decision: "allow", digest: QUESTION.digest, by: "bob" };

let store: MemorySessionStore;
let time: { wall: number; monotonic: number };
let confirmations: LocalConfirmations;
const opened: LocalConfirmations[] = [];

function open(options: Partial<LocalConfirmationsOptions> = {}): LocalConfirmations {
  const clock = new SteadyClock({ wall: () => time.wall, monotonic: () => time.monotonic });
  const made = new LocalConfirmations({ store, clock, ...options });
  opened.push(made);
  return made;
}

beforeEach(() => {
  store = new MemorySessionStore();
  store.addSession(SESSION);
  store.addMessage(MESSAGE);
  time = { wall: 10_000, monotonic: 0 };
  confirmations = open();
});
afterEach(() => {
  for (const made of opened.splice(0)) made.close();
});

/** Asks, and returns the confirmation as soon as it is open. */
async function ask(
  question: Partial<NewConfirmation> = {},
  options: Parameters<LocalConfirmations["ask"]>[1] = {},
  on: LocalConfirmations = confirmations,
): Promise<{ confirmation: Confirmation; end: Promise<Resolution | "nobody"> }> {
  const known = new Set(on.open().map(({ id }) => id));
  const { promise, resolve } = Promise.withResolvers<Confirmation>();
  const stop = on.on((event) => {
    if (event.type === "requested" && !known.has(event.confirmation.id)) resolve(event.confirmation);
  });
  const end = on.ask({ ...QUESTION, ...question } as NewConfirmation, options);
  const confirmation = await promise;
  stop();
  return { confirmation, end };
}

describe("A confirmation", () => {
  test("is stored before anybody is told of it, and expires after the time-out", async () => {
    confirmations.on(({ confirmation }) =>
      expect(store.confirmation(confirmation.id)).toEqual({ confirmation }),
    );
    const { confirmation } = await ask();
    expect(confirmation).toEqual({ ...QUESTION, id: confirmation.id, askedAt: 10_000, expiresAt: 310_000 });
    expect(confirmation.id).toMatch(/^[0-9A-Z]{36}$/);
    expect(confirmations.open()).toEqual([confirmation]);
    expect(confirmations.get(confirmation.id)).toBe(confirmation);
  });

  test("resolves with the answer, and with who gave it", async () => {
    const { confirmation, end } = await ask();
    time.wall = 11_000;
    const resolution = { decision: "allow", choice: "allow", by: "bob", at: 11_000 };
    expect(await confirmations.answer(confirmation.id, ANSWER)).toEqual({ outcome: "resolved", resolution });
    expect(await end).toEqual(resolution);
    expect(confirmations.open()).toEqual([]);
    expect(confirmations.get(confirmation.id)).toBeUndefined();
  });

  test("resolves with a denial", async () => {
    const { confirmation, end } = await ask();
    await confirmations.answer(confirmation.id, { ...ANSWER, decision: "deny" });
    expect(await end).toMatchObject({ decision: "deny", choice: "deny", by: "bob" });
  });

  test("allows its call and asks to remember the answer with 'always'", async () => {
    const { confirmation, end } = await ask();
    const approval = {
      tools: ["write_*"],
      when: { "/path": { prefix: "a" } },
      for: 1_000,
      calls: 2,
    } as const;
    await confirmations.answer(confirmation.id, { ...ANSWER, decision: "always", approval });
    expect(await end).toMatchObject({ decision: "allow", choice: "always", approval });
  });

  test("of 1,000 that two people answer at once, has exactly one winner, and both are told the same", async () => {
    confirmations = open({ perPrincipal: 1_000 });
    for (let round = 0; round < 1_000; round++) {
      const { confirmation, end } = await ask({ callId: `call_${round}` });
      const answers = await Promise.all([
        confirmations.answer(confirmation.id, { ...ANSWER, by: "bob" }),
        confirmations.answer(confirmation.id, { ...ANSWER, by: "eve", decision: "deny" }),
      ]);
      expect(answers.map(({ outcome }) => outcome).sort()).toEqual(["lost", "resolved"]);
      const [one, other] = answers.map((answer) => "resolution" in answer && answer.resolution);
      expect(one).toEqual(other);
      expect(await end).toEqual(one);
    }
  });
});

describe("An answer", () => {
  test("that comes later is told the winner, and changes nothing", async () => {
    const { confirmation, end } = await ask();
    await confirmations.answer(confirmation.id, ANSWER);
    const late = await confirmations.answer(confirmation.id, { ...ANSWER, decision: "deny", by: "eve" });
    expect(late).toEqual({ outcome: "lost", resolution: await end });
  });

  test("that the same person repeats has the same result", async () => {
    const { confirmation } = await ask({}, { checkArguments: () => undefined });
    const answer: PersonAnswer = {
      ...ANSWER,
      decision: "always",
      arguments: { path: "b" },
      approval: { tools: ["write_file"], for: "session" },
    };
    const first = await confirmations.answer(confirmation.id, answer);
    expect(await confirmations.answer(confirmation.id, answer)).toEqual(first);
    for (const other of [
      { by: "eve" },
      { decision: "allow" as const },
      { digest: "f".repeat(64) },
      { arguments: { path: "c" } },
      { approval: { tools: ["*"], for: "session" as const } },
    ]) {
      expect(await confirmations.answer(confirmation.id, { ...answer, ...other })).toMatchObject({
        outcome: "lost",
      });
    }
  });

  test("to something else than what is shown is refused, and the confirmation stays open", async () => {
    let isChecked = false;
    const checkArguments = (): undefined => {
      isChecked = true;
    };
    const { confirmation } = await ask({}, { checkArguments });
    const answer = { ...ANSWER, digest: "0".repeat(64), arguments: {} };
    expect(await confirmations.answer(confirmation.id, answer)).toEqual({ outcome: "other-digest" });
    expect(isChecked).toBe(false);
    expect(confirmations.get(confirmation.id)).toBe(confirmation);
  });

  test("to no confirmation, or to one of another session or turn, finds nothing", async () => {
    const { confirmation } = await ask();
    const unknown = { outcome: "unknown" };
    expect(await confirmations.answer("forged", ANSWER)).toEqual(unknown);
    expect(await confirmations.answer(confirmation.id, { ...ANSWER, sessionId: "s2" })).toEqual(unknown);
    expect(await confirmations.answer(confirmation.id, { ...ANSWER, turnId: "t2" })).toEqual(unknown);
    const found = await confirmations.answer(confirmation.id, { ...ANSWER, sessionId: "s1", turnId: "t1" });
    expect(found.outcome).toBe("resolved");
    expect(await confirmations.answer(confirmation.id, { ...ANSWER, sessionId: "s2" })).toEqual(unknown);
  });

  test("that the confirmation does not offer is refused", async () => {
    const { confirmation } = await ask({ choices: ["allow", "deny"] });
    expect(await confirmations.answer(confirmation.id, { ...ANSWER, decision: "always" })).toEqual({
      outcome: "invalid",
      problem: "the decision must be one of allow, deny",
    });
    expect(confirmations.get(confirmation.id)).toBe(confirmation);
  });

  test.each([
    [
      "an approval without 'always'",
      { approval: { tools: ["write_file"], for: "session" } },
      /only the decision/,
    ],
    [
      "an approval of another tool",
      { decision: "always", approval: { tools: ["rm"], for: "session" } },
      /must name/,
    ],
    ["arguments with a denial", { decision: "deny", arguments: {} }, /a denial cannot have arguments/],
    ["arguments where they cannot be changed", { arguments: {} }, /cannot be changed/],
  ] as const)("with %s is refused, and the confirmation stays open", async (_name, extra, problem) => {
    const { confirmation } = await ask();
    const outcome = await confirmations.answer(confirmation.id, { ...ANSWER, ...extra });
    expect(outcome).toEqual({ outcome: "invalid", problem: expect.stringMatching(problem) });
    expect(confirmations.get(confirmation.id)).toBe(confirmation);
  });

  test("with other arguments is accepted only after they were checked", async () => {
    const checkArguments = async (edited: unknown): Promise<string | undefined> =>
      JSON.stringify(edited) === '{"path":"b"}' ? undefined : "/path must be b";
    const { confirmation, end } = await ask({}, { checkArguments });
    const given = { path: "c" };
    expect(await confirmations.answer(confirmation.id, { ...ANSWER, arguments: given })).toEqual({
      outcome: "invalid",
      problem: "/path must be b",
    });
    given.path = "b";
    const answered = confirmations.answer(confirmation.id, { ...ANSWER, arguments: given });
    given.path = "d";
    expect((await answered).outcome).toBe("resolved");
    expect(await end).toMatchObject({ decision: "allow", arguments: { path: "b" } });
  });

  test("whose arguments are being checked loses to one that is written meanwhile", async () => {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const { confirmation, end } = await ask({}, { checkArguments: () => promise });
    const slow = confirmations.answer(confirmation.id, { ...ANSWER, arguments: {} });
    const fast = await confirmations.answer(confirmation.id, { ...ANSWER, decision: "deny", by: "eve" });
    resolve(undefined);
    expect(fast.outcome).toBe("resolved");
    expect(await slow).toEqual({ outcome: "lost", resolution: await end });
  });

  test("whose arguments are being checked when the time is over comes too late", async () => {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const { confirmation, end } = await ask({}, { checkArguments: () => promise });
    const slow = confirmations.answer(confirmation.id, { ...ANSWER, arguments: {} });
    time.wall = confirmation.expiresAt;
    resolve(undefined);
    expect(await slow).toEqual({ outcome: "gone" });
    expect(await end).toMatchObject({ decision: "timeout" });
  });

  test("that the store cannot write rejects, and the confirmation stays open", async () => {
    const { confirmation, end } = await ask();
    const write = store.resolveConfirmation.bind(store);
    store.resolveConfirmation = () => {
      throw new Error("disk full");
    };
    await expect(confirmations.answer(confirmation.id, ANSWER)).rejects.toThrow("disk full");
    store.resolveConfirmation = write;
    await confirmations.answer(confirmation.id, ANSWER);
    expect(await end).toMatchObject({ decision: "allow" });
  });
});

describe("Time", () => {
  test("that is over makes an answer come too late, even if no timer has fired", async () => {
    const { confirmation, end } = await ask();
    time.wall = confirmation.expiresAt;
    expect(confirmations.open()).toEqual([]);
    expect(confirmations.get(confirmation.id)).toBeUndefined();
    expect(await confirmations.answer(confirmation.id, ANSWER)).toEqual({ outcome: "gone" });
    expect(await end).toEqual({ decision: "timeout", at: confirmation.expiresAt });
    expect(await confirmations.answer(confirmation.id, ANSWER)).toEqual({ outcome: "gone" });
  });

  test("is not longer after the clock was set back", async () => {
    const { confirmation, end } = await ask();
    time.wall -= 3_600_000;
    time.monotonic += 300_000;
    expect(await confirmations.answer(confirmation.id, ANSWER)).toEqual({ outcome: "gone" });
    expect(await end).toMatchObject({ decision: "timeout" });
  });

  test("is not longer after a restart with a clock that was set back", async () => {
    const { confirmation } = await ask();
    confirmations.close();
    time.wall -= 3_600_000;
    const restarted = open();
    await restarted.restore();
    time.monotonic += 300_000;
    expect(await restarted.answer(confirmation.id, ANSWER)).toEqual({ outcome: "gone" });
  });

  test("that is over ends the confirmation by itself", async () => {
    confirmations = new LocalConfirmations({ store, timeoutMs: 20 });
    opened.push(confirmations);
    expect(await confirmations.ask(QUESTION)).toMatchObject({ decision: "timeout" });
  });

  test.each([0, Number.NaN, 2 ** 31])("cannot be %d ms", (timeoutMs) => {
    expect(() => open({ timeoutMs })).toThrow(TypeError);
  });
});

describe("A signal", () => {
  test("cancels the confirmation, which cannot be answered then", async () => {
    const controller = new AbortController();
    const { confirmation, end } = await ask({}, { signal: controller.signal });
    controller.abort();
    expect(await end).toEqual({ decision: "cancelled", at: 10_000 });
    expect(await confirmations.answer(confirmation.id, ANSWER)).toEqual({ outcome: "gone" });
    expect(store.confirmation(confirmation.id)?.resolution).toEqual({ decision: "cancelled", at: 10_000 });
  });

  test("that was aborted before asks nobody", async () => {
    const end = await confirmations.ask(QUESTION, { signal: AbortSignal.abort() });
    expect(end).toEqual({ decision: "cancelled", at: 10_000 });
    expect(store.pendingConfirmations()).toEqual([]);
  });

  test("that is aborted while the confirmation is written cancels it", async () => {
    const controller = new AbortController();
    const end = confirmations.ask(QUESTION, { signal: controller.signal });
    controller.abort();
    expect(await end).toMatchObject({ decision: "cancelled" });
    expect(confirmations.open()).toEqual([]);
  });

  test("cancels the call even if the store fails, and no later answer is accepted", async () => {
    const controller = new AbortController();
    const { confirmation, end } = await ask({}, { signal: controller.signal });
    const write = store.resolveConfirmation.bind(store);
    store.resolveConfirmation = () => {
      throw new Error("disk full");
    };
    controller.abort();
    expect(await end).toMatchObject({ decision: "cancelled" });
    store.resolveConfirmation = write;
    expect(await confirmations.answer(confirmation.id, ANSWER)).toEqual({ outcome: "gone" });
  });
});

describe("Open confirmations", () => {
  test("are bounded for each principal and in all, and make room when they end", async () => {
    confirmations = open({ perPrincipal: 2, total: 3 });
    const first = await ask({ callId: "1" });
    await ask({ callId: "2" });
    expect(await confirmations.ask({ ...QUESTION, callId: "3" })).toBe("nobody");
    await ask({ callId: "4", principal: "joe" });
    expect(await confirmations.ask({ ...QUESTION, callId: "5", principal: "joe" })).toBe("nobody");
    await confirmations.answer(first.confirmation.id, ANSWER);
    await ask({ callId: "6" });
    expect(confirmations.open()).toHaveLength(3);
  });

  test("are 32 for a principal by default", async () => {
    const ends = Array.from({ length: 33 }, (_, index) =>
      confirmations.ask({ ...QUESTION, callId: `${index}` }),
    );
    expect(await ends[32]).toBe("nobody");
    expect(confirmations.open()).toHaveLength(32);
  });

  test("do not count if the store cannot write them", async () => {
    confirmations = open({ perPrincipal: 1 });
    await expect(confirmations.ask({ ...QUESTION, sessionId: "unknown" })).rejects.toThrow(
      /not in the store/,
    );
    await ask();
  });

  test("can be filtered", async () => {
    await ask();
    const { confirmation } = await ask({ callId: "1", principal: "joe" });
    expect(confirmations.open(({ principal }) => principal === "joe")).toEqual([confirmation]);
  });
});

describe("A listener", () => {
  test("is told of confirmations that were open before it came, and of every end", async () => {
    const first = await ask({ callId: "1" });
    const events: ConfirmationEvent[] = [];
    const stop = confirmations.on((event) => events.push(event));
    const second = await ask({ callId: "2" });
    await confirmations.answer(first.confirmation.id, ANSWER);
    stop();
    await confirmations.answer(second.confirmation.id, ANSWER);
    expect(events).toEqual([
      { type: "requested", confirmation: first.confirmation },
      { type: "requested", confirmation: second.confirmation },
      { type: "resolved", confirmation: first.confirmation, resolution: await first.end },
    ]);
  });

  test("that throws or rejects affects nothing", async () => {
    confirmations.on(() => {
      throw new Error("listener");
    });
    confirmations.on((() => Promise.reject(new Error("listener"))) as () => void);
    const { confirmation, end } = await ask();
    await confirmations.answer(confirmation.id, ANSWER);
    expect(await end).toMatchObject({ decision: "allow" });
  });
});

describe("After a restart", () => {
  /** The same store with new confirmations, as in a new process. */
  async function restart(): Promise<LocalConfirmations> {
    confirmations.close();
    confirmations = open();
    await confirmations.restore();
    return confirmations;
  }

  test("an open confirmation has the same id, digest and expiry, and its answer reaches the call", async () => {
    const { confirmation } = await ask();
    time.wall += 60_000;
    await restart();
    expect(confirmations.open()).toEqual([confirmation]);
    const end = confirmations.ask(QUESTION);
    await confirmations.answer(confirmation.id, ANSWER);
    expect(await end).toMatchObject({ decision: "allow", by: "bob" });
    expect(confirmations.open()).toEqual([]);
  });

  test("an answer that came before the call was dispatched again is used", async () => {
    const { confirmation } = await ask();
    await restart();
    await confirmations.answer(confirmation.id, ANSWER);
    expect(await confirmations.ask(QUESTION)).toMatchObject({ decision: "allow", by: "bob" });
  });

  test("an answer that was written before is used once", async () => {
    const { confirmation } = await ask();
    await confirmations.answer(confirmation.id, { ...ANSWER, decision: "always" });
    await restart();
    expect(await confirmations.ask(QUESTION)).toMatchObject({
      decision: "allow",
      choice: "always",
      by: "bob",
    });
    const again = await ask();
    expect(again.confirmation.id).not.toBe(confirmation.id);
  });

  test("an answer of a call that has begun is used for nothing", async () => {
    const { confirmation } = await ask();
    await confirmations.answer(confirmation.id, ANSWER);
    store.claim(CALL);
    await restart();
    expect((await ask()).confirmation.id).not.toBe(confirmation.id);
  });

  test("an answer to something else is not used, and the open confirmation is cancelled", async () => {
    const { confirmation } = await ask();
    await restart();
    const changed = await ask({ digest: "f".repeat(64) });
    expect(changed.confirmation.id).not.toBe(confirmation.id);
    expect(await confirmations.answer(confirmation.id, ANSWER)).toEqual({ outcome: "gone" });
    expect(confirmations.open()).toEqual([changed.confirmation]);
  });

  test("only what was asked last about a call is used", async () => {
    const first = await ask();
    await confirmations.answer(first.confirmation.id, ANSWER);
    await ask({ digest: "f".repeat(64) });
    await restart();
    const third = await ask();
    expect(third.confirmation.id).not.toBe(first.confirmation.id);
    expect(confirmations.open()).toEqual([third.confirmation]);
  });

  test("a confirmation whose time was over has timed out", async () => {
    await ask();
    time.wall += 300_000;
    await restart();
    expect(await confirmations.ask(QUESTION)).toMatchObject({ decision: "timeout" });
  });

  test("the same call in another session is asked about", async () => {
    const { confirmation } = await ask();
    await confirmations.answer(confirmation.id, ANSWER);
    store.addSession({ ...SESSION, id: "s2" });
    await restart();
    expect((await ask({ sessionId: "s2" })).confirmation.sessionId).toBe("s2");
  });

  test("questions of nested calls and tools are cancelled, as those who asked are gone", async () => {
    const nested = await ask({ callId: "call_0/1", parent: "call_0" });
    const question = await ask({ callId: "call_1", kind: "question" });
    await restart();
    expect(confirmations.open()).toEqual([]);
    for (const { confirmation } of [nested, question]) {
      expect(store.confirmation(confirmation.id)?.resolution?.decision).toBe("cancelled");
    }
  });

  test("the confirmation of a call that asks no more can be abandoned", async () => {
    const { confirmation } = await ask();
    await restart();
    await confirmations.abandon(CALL);
    await confirmations.abandon(CALL);
    expect(confirmations.open()).toEqual([]);
    expect(await confirmations.answer(confirmation.id, ANSWER)).toEqual({ outcome: "gone" });
  });

  test("other arguments are refused until the call is dispatched again", async () => {
    const { confirmation } = await ask();
    await restart();
    const answer = { ...ANSWER, arguments: { path: "b" } };
    expect((await confirmations.answer(confirmation.id, answer)).outcome).toBe("invalid");
    const end = confirmations.ask(QUESTION, { checkArguments: () => undefined });
    await Promise.resolve();
    expect((await confirmations.answer(confirmation.id, answer)).outcome).toBe("resolved");
    expect(await end).toMatchObject({ arguments: { path: "b" } });
  });

  test("a call that has ended leaves nothing to ask", async () => {
    const { confirmation } = await ask();
    await confirmations.answer(confirmation.id, ANSWER);
    store.end(CALL, executionOf("call_0"));
    await restart();
    expect(store.pendingConfirmations()).toEqual([]);
  });

  test("restored confirmations count", async () => {
    await ask();
    confirmations.close();
    confirmations = open({ perPrincipal: 1 });
    await confirmations.restore();
    expect(await confirmations.ask({ ...QUESTION, callId: "call_1" })).toBe("nobody");
  });
});
