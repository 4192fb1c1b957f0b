import { describe, expect, test } from "vitest";
import { ExecutorClock, type TimedCall } from "../../../src/sandboxes/remote/executor-clock.ts";

describe("the clock of calls on executors", () => {
  test("ends each call when its time is over, in whatever order they came", async () => {
    const clock = new ExecutorClock<TimedCall>();
    const ended: string[] = [];
    const add = (name: string, ms: number): Promise<void> =>
      new Promise((resolve) => {
        const now = performance.now();
        const call = {
          dueAt: now + ms,
          expire: () => {
            expect(performance.now()).toBeGreaterThanOrEqual(call.dueAt);
            clock.delete(call);
            ended.push(name);
            resolve();
          },
        };
        clock.add(call, now);
      });
    const early = [add("slow", 120), add("quick", 20), add("middle", 60)];
    await early[1];
    await Promise.all([...early, add("late", 150)]);
    expect(ended).toEqual(["quick", "middle", "slow", "late"]);
    expect(clock.calls).toEqual([]);
  });
});
