import { getEventListeners } from "node:events";
import { afterEach, describe, expect, test, vi } from "vitest";
import { race } from "../../../src/base/timers.ts";

const never = new Promise<never>(() => {});

afterEach(() => void vi.useRealTimers());

describe("a race of work against a timeout and signals", () => {
  test("a race resolves or rejects as the work does", async () => {
    const { signal } = new AbortController();
    await expect(race(Promise.resolve(1), { timeoutMs: 1_000, signals: [signal, undefined] })).resolves.toBe(
      1,
    );
    await expect(race(Promise.reject(new Error("failed")), { signals: [signal] })).rejects.toThrow("failed");
  });

  test("a race resolves to 'timeout' when the time is over", async () => {
    vi.useFakeTimers();
    const ended = race(never, { timeoutMs: 100 });
    await vi.advanceTimersByTimeAsync(100);
    expect(await ended).toBe("timeout");
  });

  test("a race resolves to 'aborted' if any signal aborts or is already aborted", async () => {
    const [first, second] = [new AbortController(), new AbortController()];
    const signals = [first.signal, second.signal];
    const ended = race(never, { signals });
    second.abort();
    expect(await ended).toBe("aborted");
    expect(await race(Promise.resolve(1), { signals })).toBe("aborted");
  });

  test("a race ignores the work once it has ended", async () => {
    const { promise, reject } = Promise.withResolvers<void>();
    expect(await race(promise, { signals: [AbortSignal.abort()] })).toBe("aborted");
    // An unhandled rejection would fail the test run.
    reject(new Error("too late"));
    await new Promise(setImmediate);
  });

  test("a race leaves no timer and no listener behind", async () => {
    vi.useFakeTimers();
    const { signal } = new AbortController();
    await race(Promise.resolve(), { timeoutMs: 1_000, signals: [signal] });
    expect(vi.getTimerCount()).toBe(0);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  test("a timeout that is too long for a timer does not end the race early", async () => {
    const later = new Promise((resolve) => setTimeout(resolve, 20, "done"));
    expect(await race(later, { timeoutMs: Number.POSITIVE_INFINITY })).toBe("done");
  });
});
