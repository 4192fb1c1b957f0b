import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
// Inside: connections end and return in orders that a server of Restate decides by itself.
import { Attempts } from "../../../src/restate/calls/attempts.ts";
import type { GatedDispatchOptions } from "../../../src/restate/calls/gated-dispatch.ts";
import type { DurableCall } from "../../../src/sessions/durable-runtime.ts";
import { CONFIRMATION, executionOf } from "../../sessions/store/records.ts";

const { id: _id, askedAt: _askedAt, expiresAt: _expiresAt, ...question } = CONFIRMATION;
const call = { sessionId: "s", turnId: "t", messageId: "m", call: { id: "c", name: "tool" } } as DurableCall;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const asking = (): GatedDispatchOptions => ({
  idempotencyKey: "key",
  confirmations: { timeoutMs: 1_000, earlier: () => [], ask: async () => "nobody" },
  start: async ({ confirmations, signal }) => {
    const cancelled = new Promise((resolve) => signal.addEventListener("abort", resolve));
    await Promise.race([cancelled, confirmations.ask(question as never)]);
    return executionOf("call");
  },
});

/** A call that begins, and has ended as soon as its effect has. */
const beginning = (): GatedDispatchOptions => ({
  ...asking(),
  start: async ({ begin, signal }) => {
    await begin({ isRepeatable: false });
    return { ...executionOf("call"), success: !signal.aborted };
  },
});

describe("The attempts of a process", () => {
  test("give a call up that waits for a person when its connection has ended", async () => {
    const attempts = new Attempts();
    const { dispatch, leave, token } = attempts.open("i", call, asking());
    await dispatch.advance([]);
    leave();
    await turn();
    expect(await dispatch.advance([])).toMatchObject({ kind: "ended" });
    expect(attempts.open("i", call, asking()).token).not.toBe(token);
  });

  test("keep a call that has come again before the end of its first connection was seen", async () => {
    const attempts = new Attempts();
    const first = attempts.open("i", call, asking());
    await first.dispatch.advance([]);
    const second = attempts.open("i", call, asking());
    first.leave();
    await turn();
    expect(second.token).toBe(first.token);
    expect(await second.dispatch.advance([])).toMatchObject({ kind: "asks" });
    second.leave();
    await turn();
    expect(await second.dispatch.advance([])).toMatchObject({ kind: "ended" });
  });

  test("give a call up that waits to begin, whose place others need, if Restate does not come back to it", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const attempts = new Attempts();
      const first = attempts.open("i", call, beginning());
      expect(await first.dispatch.advance([])).toMatchObject({ kind: "begins" });
      first.leave();
      vi.advanceTimersByTime(9_000);
      const second = attempts.open("i", call, beginning());
      expect(second.token).toBe(first.token);
      second.leave();
      vi.advanceTimersByTime(10_000);
      expect(attempts.open("i", call, beginning()).token).not.toBe(first.token);
    } finally {
      vi.useRealTimers();
    }
  });

  test("have what waits for a connection go on when Restate comes back, and give it up when the process ends", async () => {
    const attempts = new Attempts();
    const waits = (): GatedDispatchOptions => ({
      ...beginning(),
      start: async (gates) => {
        await gates.begin({ isRepeatable: false });
        await turn();
        const isConnected = await gates.connected.then(
          () => true,
          () => false,
        );
        return { ...executionOf("call"), success: isConnected };
      },
    });
    for (const comesBack of [true, false]) {
      const id = `i${comesBack}`;
      const { dispatch, leave } = attempts.open(id, call, waits());
      await dispatch.advance([]);
      const ended = dispatch.run([], false);
      leave();
      await turn();
      if (comesBack) attempts.open(id, call, waits());
      else attempts.close();
      expect((await ended)?.success).toBe(comesBack);
    }
  });

  test("drain until Restate has the result of a call that has begun, and not only until it has ended", async () => {
    const attempts = new Attempts();
    const { dispatch } = attempts.open("i", call, beginning());
    await dispatch.advance([]);
    await dispatch.run([], false);
    let isDrained = false;
    const drained = attempts.drain(60_000).then(() => {
      isDrained = true;
    });
    await sleep(100);
    expect(isDrained).toBe(false);
    attempts.end("i");
    await drained;
  });

  test("drain at once if no call has begun", async () => {
    const attempts = new Attempts();
    const { dispatch } = attempts.open("i", call, beginning());
    await dispatch.advance([]);
    await attempts.drain(60_000);
  });

  test("cancel a call of a turn that was cancelled before Restate has come again with it", async () => {
    const attempts = new Attempts();
    const first = attempts.open("i", call, {
      ...beginning(),
      start: async () => {
        throw new Error("the session cannot be read");
      },
    });
    await expect(first.dispatch.advance([])).rejects.toThrow("cannot be read");
    first.leave();
    attempts.cancel("s", ["t"]);
    const others = ["i", "another"].map((invocation) => attempts.open(invocation, call, beginning()));
    const results = await Promise.all(
      others.map(async ({ dispatch }) => {
        await dispatch.advance([]);
        return dispatch.run([], false);
      }),
    );
    expect(results.map((result) => result?.success)).toEqual([false, true]);
  });

  test("count a call that Restate comes again with as one that is dispatched since it first came", async () => {
    const attempts = new Attempts();
    const failing = {
      ...beginning(),
      start: async () => {
        throw new Error("the session cannot be read");
      },
    };
    const first = attempts.open("i", call, failing);
    await expect(first.dispatch.advance([])).rejects.toThrow("cannot be read");
    first.leave();
    await sleep(60);
    attempts.open("i", call, beginning());
    expect(attempts.running(50)).toEqual([call]);
  });

  test("go on with a suspended call when Restate comes twice before it is known to be suspended", async () => {
    const attempts = new Attempts();
    const started: boolean[] = [];
    const remembering = {
      ...beginning(),
      start: async (_: unknown, isSuspended: boolean) => {
        started.push(isSuspended);
        return executionOf("call");
      },
    };
    attempts.open("i", call, remembering);
    const again = attempts.open("i", call, remembering);
    await again.dispatch.run([], true);
    expect(started).toEqual([true]);
  });
});
