import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SteadyClock } from "../../../src/base/steady-clock.ts";
import type { InquiryAnswer } from "../../../src/sessions/confirmations/answer.ts";
import type {
  Inquiry,
  NewConfirmation,
  Resolution,
} from "../../../src/sessions/confirmations/confirmation.ts";
import type { ConfirmationEvent } from "../../../src/sessions/confirmations/confirmation-broker.ts";
import {
  LocalConfirmations,
  type LocalConfirmationsOptions,
} from "../../../src/sessions/confirmations/local-confirmations.ts";
import { MemorySessionStore } from "../../../src/sessions/store/memory-store.ts";
import { CALL, executionOf, INQUIRY, MESSAGE, SESSION } from "../store/records.ts";

const { id: _, askedAt: __, expiresAt: ___, ...QUESTION } = INQUIRY;
const ANSWER: InquiryAnswer = { decision: "allow", digest: QUESTION.digest, by: "bob" };

let store: MemorySessionStore;
let time: { wall: number; monotonic: number };
let inquiries: LocalConfirmations;
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
  inquiries = open();
});
afterEach(() => {
  for (const made of opened.splice(0)) made.close();
});

/** Asks, and returns the inquiry as soon as it is open. */
async function ask(
  question: Partial<NewConfirmation> = {},
  options: Parameters<LocalConfirmations["ask"]>[1] = {},
  on: LocalConfirmations = inquiries,
): Promise<{ inquiry: Inquiry; end: Promise<Resolution | "nobody"> }> {
  const known = new Set(on.open().map(({ id }) => id));
  const { promise, resolve } = Promise.withResolvers<Inquiry>();
  const stop = on.on((event) => {
    if (event.type === "requested" && !known.has(event.inquiry.id)) resolve(event.inquiry);
  });
  const end = on.ask({ ...QUESTION, ...question } as NewConfirmation, options);
  const inquiry = await promise;
  stop();
  return { inquiry, end };
}

describe("An inquiry", () => {
  test("is stored before anybody is told of it, and expires after the time-out", async () => {
    inquiries.on(({ inquiry }) => expect(store.inquiry(inquiry.id)).toEqual({ inquiry }));
    const { inquiry } = await ask();
    expect(inquiry).toEqual({ ...QUESTION, id: inquiry.id, askedAt: 10_000, expiresAt: 310_000 });
    expect(inquiry.id).toMatch(/^[0-9A-Z]{36}$/);
    expect(inquiries.open()).toEqual([inquiry]);
    expect(inquiries.get(inquiry.id)).toBe(inquiry);
  });

  test("resolves with the answer, and with who gave it", async () => {
    const { inquiry, end } = await ask();
    time.wall = 11_000;
    const resolution = { decision: "allow", choice: "allow", by: "bob", at: 11_000 };
    expect(await inquiries.answer(inquiry.id, ANSWER)).toEqual({ outcome: "resolved", resolution });
    expect(await end).toEqual(resolution);
    expect(inquiries.open()).toEqual([]);
    expect(inquiries.get(inquiry.id)).toBeUndefined();
  });

  test("resolves with a denial", async () => {
    const { inquiry, end } = await ask();
    await inquiries.answer(inquiry.id, { ...ANSWER, decision: "deny" });
    expect(await end).toMatchObject({ decision: "deny", choice: "deny", by: "bob" });
  });

  test("allows its call and asks to remember the answer with 'always'", async () => {
    const { inquiry, end } = await ask();
    const approval = {
      tools: ["write_*"],
      when: { "/path": { prefix: "a" } },
      for: 1_000,
      calls: 2,
    } as const;
    await inquiries.answer(inquiry.id, { ...ANSWER, decision: "always", approval });
    expect(await end).toMatchObject({ decision: "allow", choice: "always", approval });
  });

  test("of 1,000 that two people answer at once, has exactly one winner, and both are told the same", async () => {
    inquiries = open({ perPrincipal: 1_000 });
    for (let round = 0; round < 1_000; round++) {
      const { inquiry, end } = await ask({ callId: `call_${round}` });
      const answers = await Promise.all([
        inquiries.answer(inquiry.id, { ...ANSWER, by: "bob" }),
        inquiries.answer(inquiry.id, { ...ANSWER, by: "eve", decision: "deny" }),
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
    const { inquiry, end } = await ask();
    await inquiries.answer(inquiry.id, ANSWER);
    const late = await inquiries.answer(inquiry.id, { ...ANSWER, decision: "deny", by: "eve" });
    expect(late).toEqual({ outcome: "lost", resolution: await end });
  });

  test("that the same person repeats has the same result", async () => {
    const { inquiry } = await ask({}, { checkArguments: () => undefined });
    const answer: InquiryAnswer = {
      ...ANSWER,
      decision: "always",
      arguments: { path: "b" },
      approval: { tools: ["write_file"], for: "session" },
    };
    const first = await inquiries.answer(inquiry.id, answer);
    expect(await inquiries.answer(inquiry.id, answer)).toEqual(first);
    for (const other of [
      { by: "eve" },
      { decision: "allow" as const },
      { digest: "f".repeat(64) },
      { arguments: { path: "c" } },
      { approval: { tools: ["*"], for: "session" as const } },
    ]) {
      expect(await inquiries.answer(inquiry.id, { ...answer, ...other })).toMatchObject({ outcome: "lost" });
    }
  });

  test("to something else than what is shown is refused, and the inquiry stays open", async () => {
    let isChecked = false;
    const checkArguments = (): undefined => {
      isChecked = true;
    };
    const { inquiry } = await ask({}, { checkArguments });
    const answer = { ...ANSWER, digest: "0".repeat(64), arguments: {} };
    expect(await inquiries.answer(inquiry.id, answer)).toEqual({ outcome: "other-digest" });
    expect(isChecked).toBe(false);
    expect(inquiries.get(inquiry.id)).toBe(inquiry);
  });

  test("to no inquiry, or to one of another session or turn, finds nothing", async () => {
    const { inquiry } = await ask();
    const unknown = { outcome: "unknown" };
    expect(await inquiries.answer("forged", ANSWER)).toEqual(unknown);
    expect(await inquiries.answer(inquiry.id, { ...ANSWER, sessionId: "s2" })).toEqual(unknown);
    expect(await inquiries.answer(inquiry.id, { ...ANSWER, turnId: "t2" })).toEqual(unknown);
    const found = await inquiries.answer(inquiry.id, { ...ANSWER, sessionId: "s1", turnId: "t1" });
    expect(found.outcome).toBe("resolved");
    expect(await inquiries.answer(inquiry.id, { ...ANSWER, sessionId: "s2" })).toEqual(unknown);
  });

  test("that the inquiry does not offer is refused", async () => {
    const { inquiry } = await ask({ choices: ["allow", "deny"] });
    expect(await inquiries.answer(inquiry.id, { ...ANSWER, decision: "always" })).toEqual({
      outcome: "invalid",
      problem: "the decision must be one of allow, deny",
    });
    expect(inquiries.get(inquiry.id)).toBe(inquiry);
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
  ] as const)("with %s is refused, and the inquiry stays open", async (_name, extra, problem) => {
    const { inquiry } = await ask();
    const outcome = await inquiries.answer(inquiry.id, { ...ANSWER, ...extra });
    expect(outcome).toEqual({ outcome: "invalid", problem: expect.stringMatching(problem) });
    expect(inquiries.get(inquiry.id)).toBe(inquiry);
  });

  test("with other arguments is accepted only after they were checked", async () => {
    const checkArguments = async (edited: unknown): Promise<string | undefined> =>
      JSON.stringify(edited) === '{"path":"b"}' ? undefined : "/path must be b";
    const { inquiry, end } = await ask({}, { checkArguments });
    const given = { path: "c" };
    expect(await inquiries.answer(inquiry.id, { ...ANSWER, arguments: given })).toEqual({
      outcome: "invalid",
      problem: "/path must be b",
    });
    given.path = "b";
    const answered = inquiries.answer(inquiry.id, { ...ANSWER, arguments: given });
    given.path = "d";
    expect((await answered).outcome).toBe("resolved");
    expect(await end).toMatchObject({ decision: "allow", arguments: { path: "b" } });
  });

  test("whose arguments are being checked loses to one that is written meanwhile", async () => {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const { inquiry, end } = await ask({}, { checkArguments: () => promise });
    const slow = inquiries.answer(inquiry.id, { ...ANSWER, arguments: {} });
    const fast = await inquiries.answer(inquiry.id, { ...ANSWER, decision: "deny", by: "eve" });
    resolve(undefined);
    expect(fast.outcome).toBe("resolved");
    expect(await slow).toEqual({ outcome: "lost", resolution: await end });
  });

  test("whose arguments are being checked when the time is over comes too late", async () => {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const { inquiry, end } = await ask({}, { checkArguments: () => promise });
    const slow = inquiries.answer(inquiry.id, { ...ANSWER, arguments: {} });
    time.wall = inquiry.expiresAt;
    resolve(undefined);
    expect(await slow).toEqual({ outcome: "gone" });
    expect(await end).toMatchObject({ decision: "timeout" });
  });

  test("that the store cannot write rejects, and the inquiry stays open", async () => {
    const { inquiry, end } = await ask();
    const write = store.resolveInquiry.bind(store);
    store.resolveInquiry = () => {
      throw new Error("disk full");
    };
    await expect(inquiries.answer(inquiry.id, ANSWER)).rejects.toThrow("disk full");
    store.resolveInquiry = write;
    await inquiries.answer(inquiry.id, ANSWER);
    expect(await end).toMatchObject({ decision: "allow" });
  });
});

describe("Time", () => {
  test("that is over makes an answer come too late, even if no timer has fired", async () => {
    const { inquiry, end } = await ask();
    time.wall = inquiry.expiresAt;
    expect(inquiries.open()).toEqual([]);
    expect(inquiries.get(inquiry.id)).toBeUndefined();
    expect(await inquiries.answer(inquiry.id, ANSWER)).toEqual({ outcome: "gone" });
    expect(await end).toEqual({ decision: "timeout", at: inquiry.expiresAt });
    expect(await inquiries.answer(inquiry.id, ANSWER)).toEqual({ outcome: "gone" });
  });

  test("is not longer after the clock was set back", async () => {
    const { inquiry, end } = await ask();
    time.wall -= 3_600_000;
    time.monotonic += 300_000;
    expect(await inquiries.answer(inquiry.id, ANSWER)).toEqual({ outcome: "gone" });
    expect(await end).toMatchObject({ decision: "timeout" });
  });

  test("is not longer after a restart with a clock that was set back", async () => {
    const { inquiry } = await ask();
    inquiries.close();
    time.wall -= 3_600_000;
    const restarted = open();
    await restarted.restore();
    time.monotonic += 300_000;
    expect(await restarted.answer(inquiry.id, ANSWER)).toEqual({ outcome: "gone" });
  });

  test("that is over ends the inquiry by itself", async () => {
    inquiries = new LocalConfirmations({ store, timeoutMs: 20 });
    opened.push(inquiries);
    expect(await inquiries.ask(QUESTION)).toMatchObject({ decision: "timeout" });
  });

  test.each([0, Number.NaN, 2 ** 31])("cannot be %d ms", (timeoutMs) => {
    expect(() => open({ timeoutMs })).toThrow(TypeError);
  });
});

describe("A signal", () => {
  test("cancels the inquiry, which cannot be answered then", async () => {
    const controller = new AbortController();
    const { inquiry, end } = await ask({}, { signal: controller.signal });
    controller.abort();
    expect(await end).toEqual({ decision: "cancelled", at: 10_000 });
    expect(await inquiries.answer(inquiry.id, ANSWER)).toEqual({ outcome: "gone" });
    expect(store.inquiry(inquiry.id)?.resolution).toEqual({ decision: "cancelled", at: 10_000 });
  });

  test("that was aborted before asks nobody", async () => {
    const end = await inquiries.ask(QUESTION, { signal: AbortSignal.abort() });
    expect(end).toEqual({ decision: "cancelled", at: 10_000 });
    expect(store.pendingInquiries()).toEqual([]);
  });

  test("that is aborted while the inquiry is written cancels it", async () => {
    const controller = new AbortController();
    const end = inquiries.ask(QUESTION, { signal: controller.signal });
    controller.abort();
    expect(await end).toMatchObject({ decision: "cancelled" });
    expect(inquiries.open()).toEqual([]);
  });

  test("cancels the call even if the store fails, and no later answer is accepted", async () => {
    const controller = new AbortController();
    const { inquiry, end } = await ask({}, { signal: controller.signal });
    const write = store.resolveInquiry.bind(store);
    store.resolveInquiry = () => {
      throw new Error("disk full");
    };
    controller.abort();
    expect(await end).toMatchObject({ decision: "cancelled" });
    store.resolveInquiry = write;
    expect(await inquiries.answer(inquiry.id, ANSWER)).toEqual({ outcome: "gone" });
  });
});

describe("Open inquiries", () => {
  test("are bounded for each principal and in all, and make room when they end", async () => {
    inquiries = open({ perPrincipal: 2, total: 3 });
    const first = await ask({ callId: "1" });
    await ask({ callId: "2" });
    expect(await inquiries.ask({ ...QUESTION, callId: "3" })).toBe("nobody");
    await ask({ callId: "4", principal: "joe" });
    expect(await inquiries.ask({ ...QUESTION, callId: "5", principal: "joe" })).toBe("nobody");
    await inquiries.answer(first.inquiry.id, ANSWER);
    await ask({ callId: "6" });
    expect(inquiries.open()).toHaveLength(3);
  });

  test("are 32 for a principal by default", async () => {
    const ends = Array.from({ length: 33 }, (_, index) => inquiries.ask({ ...QUESTION, callId: `${index}` }));
    expect(await ends[32]).toBe("nobody");
    expect(inquiries.open()).toHaveLength(32);
  });

  test("do not count if the store cannot write them", async () => {
    inquiries = open({ perPrincipal: 1 });
    await expect(inquiries.ask({ ...QUESTION, sessionId: "unknown" })).rejects.toThrow(/not in the store/);
    await ask();
  });

  test("can be filtered", async () => {
    await ask();
    const { inquiry } = await ask({ callId: "1", principal: "joe" });
    expect(inquiries.open(({ principal }) => principal === "joe")).toEqual([inquiry]);
  });
});

describe("A listener", () => {
  test("is told of inquiries that were open before it came, and of every end", async () => {
    const first = await ask({ callId: "1" });
    const events: ConfirmationEvent[] = [];
    const stop = inquiries.on((event) => events.push(event));
    const second = await ask({ callId: "2" });
    await inquiries.answer(first.inquiry.id, ANSWER);
    stop();
    await inquiries.answer(second.inquiry.id, ANSWER);
    expect(events).toEqual([
      { type: "requested", inquiry: first.inquiry },
      { type: "requested", inquiry: second.inquiry },
      { type: "resolved", inquiry: first.inquiry, resolution: await first.end },
    ]);
  });

  test("that throws or rejects affects nothing", async () => {
    inquiries.on(() => {
      throw new Error("listener");
    });
    inquiries.on((() => Promise.reject(new Error("listener"))) as () => void);
    const { inquiry, end } = await ask();
    await inquiries.answer(inquiry.id, ANSWER);
    expect(await end).toMatchObject({ decision: "allow" });
  });
});

describe("After a restart", () => {
  /** The same store with new inquiries, as in a new process. */
  async function restart(): Promise<LocalConfirmations> {
    inquiries.close();
    inquiries = open();
    await inquiries.restore();
    return inquiries;
  }

  test("an open inquiry has the same id, digest and expiry, and its answer reaches the call", async () => {
    const { inquiry } = await ask();
    time.wall += 60_000;
    await restart();
    expect(inquiries.open()).toEqual([inquiry]);
    const end = inquiries.ask(QUESTION);
    await inquiries.answer(inquiry.id, ANSWER);
    expect(await end).toMatchObject({ decision: "allow", by: "bob" });
    expect(inquiries.open()).toEqual([]);
  });

  test("an answer that came before the call was dispatched again is used", async () => {
    const { inquiry } = await ask();
    await restart();
    await inquiries.answer(inquiry.id, ANSWER);
    expect(await inquiries.ask(QUESTION)).toMatchObject({ decision: "allow", by: "bob" });
  });

  test("an answer that was written before is used once", async () => {
    const { inquiry } = await ask();
    await inquiries.answer(inquiry.id, { ...ANSWER, decision: "always" });
    await restart();
    expect(await inquiries.ask(QUESTION)).toMatchObject({ decision: "allow", choice: "always", by: "bob" });
    const again = await ask();
    expect(again.inquiry.id).not.toBe(inquiry.id);
  });

  test("an answer of a call that has begun is used for nothing", async () => {
    const { inquiry } = await ask();
    await inquiries.answer(inquiry.id, ANSWER);
    store.claim(CALL);
    await restart();
    expect((await ask()).inquiry.id).not.toBe(inquiry.id);
  });

  test("an answer to something else is not used, and the open inquiry is cancelled", async () => {
    const { inquiry } = await ask();
    await restart();
    const changed = await ask({ digest: "f".repeat(64) });
    expect(changed.inquiry.id).not.toBe(inquiry.id);
    expect(await inquiries.answer(inquiry.id, ANSWER)).toEqual({ outcome: "gone" });
    expect(inquiries.open()).toEqual([changed.inquiry]);
  });

  test("only what was asked last about a call is used", async () => {
    const first = await ask();
    await inquiries.answer(first.inquiry.id, ANSWER);
    await ask({ digest: "f".repeat(64) });
    await restart();
    const third = await ask();
    expect(third.inquiry.id).not.toBe(first.inquiry.id);
    expect(inquiries.open()).toEqual([third.inquiry]);
  });

  test("an inquiry whose time was over has timed out", async () => {
    await ask();
    time.wall += 300_000;
    await restart();
    expect(await inquiries.ask(QUESTION)).toMatchObject({ decision: "timeout" });
  });

  test("the same call in another session is asked about", async () => {
    const { inquiry } = await ask();
    await inquiries.answer(inquiry.id, ANSWER);
    store.addSession({ ...SESSION, id: "s2" });
    await restart();
    expect((await ask({ sessionId: "s2" })).inquiry.sessionId).toBe("s2");
  });

  test("questions of nested calls and tools are cancelled, as those who asked are gone", async () => {
    const nested = await ask({ callId: "call_0/1", parent: "call_0" });
    const question = await ask({ callId: "call_1", kind: "question" });
    await restart();
    expect(inquiries.open()).toEqual([]);
    for (const { inquiry } of [nested, question]) {
      expect(store.inquiry(inquiry.id)?.resolution?.decision).toBe("cancelled");
    }
  });

  test("the inquiry of a call that asks no more can be abandoned", async () => {
    const { inquiry } = await ask();
    await restart();
    await inquiries.abandon(CALL);
    await inquiries.abandon(CALL);
    expect(inquiries.open()).toEqual([]);
    expect(await inquiries.answer(inquiry.id, ANSWER)).toEqual({ outcome: "gone" });
  });

  test("other arguments are refused until the call is dispatched again", async () => {
    const { inquiry } = await ask();
    await restart();
    const answer = { ...ANSWER, arguments: { path: "b" } };
    expect((await inquiries.answer(inquiry.id, answer)).outcome).toBe("invalid");
    const end = inquiries.ask(QUESTION, { checkArguments: () => undefined });
    await Promise.resolve();
    expect((await inquiries.answer(inquiry.id, answer)).outcome).toBe("resolved");
    expect(await end).toMatchObject({ arguments: { path: "b" } });
  });

  test("a call that has ended leaves nothing to ask", async () => {
    const { inquiry } = await ask();
    await inquiries.answer(inquiry.id, ANSWER);
    store.end(CALL, executionOf("call_0"));
    await restart();
    expect(store.pendingInquiries()).toEqual([]);
  });

  test("restored inquiries count", async () => {
    await ask();
    inquiries.close();
    inquiries = open({ perPrincipal: 1 });
    await inquiries.restore();
    expect(await inquiries.ask({ ...QUESTION, callId: "call_1" })).toBe("nobody");
  });
});
