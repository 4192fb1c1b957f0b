import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { DeadlineTimer } from "../../src/base/deadline-timer.ts";

const expired: string[] = [];
const timed = (name: string, inMs: number) => ({
  deadline: performance.now() + inMs,
  expire: () => void expired.push(name),
});

beforeEach(() => {
  expired.length = 0;
  vi.useFakeTimers();
});
afterEach(() => vi.useRealTimers());

test("each is told when its time is up, in whatever order they came", () => {
  const deadlines = new DeadlineTimer();
  for (const [name, inMs] of [
    ["c", 300],
    ["a", 100],
    ["b", 200],
  ] as const)
    deadlines.add(timed(name, inMs));
  vi.advanceTimersByTime(99);
  expect(expired).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(expired).toEqual(["a"]);
  vi.advanceTimersByTime(200);
  expect(expired).toEqual(["a", "b", "c"]);
});

test("what is over in time is not told, and one that comes while others expire is not forgotten", () => {
  const deadlines = new DeadlineTimer();
  const over = timed("over", 100);
  deadlines.add(over);
  deadlines.add({ deadline: performance.now() + 100, expire: () => deadlines.add(timed("next", 50)) });
  deadlines.delete(over);
  vi.advanceTimersByTime(150);
  expect(expired).toEqual(["next"]);
  deadlines.add(timed("later", 40 * 24 * 3_600_000));
  vi.advanceTimersByTime(40 * 24 * 3_600_000);
  expect(expired).toEqual(["next", "later"]);
});

test("nothing is told after a stop", () => {
  const deadlines = new DeadlineTimer();
  deadlines.add(timed("a", 100));
  deadlines.stop();
  vi.advanceTimersByTime(1_000);
  expect(expired).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});
