import { describe, expect, test, vi } from "vitest";
import { PausableTimer } from "../../../src/base/timers.ts";

vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });

/** A started timer, and what it did. */
function start(timer = new PausableTimer()): { timer: PausableTimer; expired: () => boolean } {
  let hasExpired = false;
  timer.start(100, () => {
    hasExpired = true;
  });
  return { timer, expired: () => hasExpired };
}

describe("a pausable timer", () => {
  test("expires after its time, and not after it was stopped", () => {
    const { expired } = start();
    const stopped = start();
    vi.advanceTimersByTime(60);
    expect(stopped.timer.stop()).toBe(60);
    vi.advanceTimersByTime(60);
    expect([expired(), stopped.expired()]).toEqual([true, false]);
  });

  test("does not count its pauses, which may overlap and end twice", () => {
    const { timer, expired } = start();
    vi.advanceTimersByTime(30);
    const [resume, resumeOther] = [timer.pause(), timer.pause()];
    vi.advanceTimersByTime(1_000);
    resume();
    resume();
    vi.advanceTimersByTime(1_000);
    resumeOther();
    vi.advanceTimersByTime(69);
    expect(expired()).toBe(false);
    vi.advanceTimersByTime(1);
    expect(expired()).toBe(true);
    expect(timer.stop()).toBe(100);
  });

  test("waits for the end of a pause that began before it was started", () => {
    const timer = new PausableTimer();
    const resume = timer.pause();
    const { expired } = start(timer);
    vi.advanceTimersByTime(1_000);
    resume();
    vi.advanceTimersByTime(99);
    expect(expired()).toBe(false);
    vi.advanceTimersByTime(1);
    expect(expired()).toBe(true);
  });

  test("does not start by the end of a pause after it was stopped", () => {
    const { timer, expired } = start();
    const resume = timer.pause();
    timer.stop();
    resume();
    vi.advanceTimersByTime(1_000);
    expect(expired()).toBe(false);
  });
});
