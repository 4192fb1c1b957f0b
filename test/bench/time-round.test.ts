import { describe, expect, test } from "vitest";
import { timeRound } from "../../bench/harness/time-round.ts";

describe("a round", () => {
  test("a round fails if a result is wrong", async () => {
    const check = (answer: unknown): void => {
      if (answer !== "right") throw new Error("the result is wrong");
    };
    await expect(timeRound({ run: () => "wrong", check }, 1)).rejects.toThrow("the result is wrong");
    await expect(timeRound({ run: async () => "right", check }, 1)).resolves.toMatchObject({ observed: {} });
  });

  test("a round calls 'before' before each run, and then times runs one by one", async () => {
    const done: string[] = [];
    const subject = {
      before: () => done.push("before"),
      run: () => done.push("run"),
      check: () => {},
    };
    const { batch } = await timeRound(subject, 1);
    expect(batch).toBe(1);
    expect(done.every((what, i) => what === (i % 2 === 0 ? "before" : "run"))).toBe(true);
  });

  test("background work starts before the first run of a round and ends after the last", async () => {
    const done: string[] = [];
    const subject = {
      beside: async () => {
        done.push("begin");
        return () => done.push("end");
      },
      run: () => done.push("run"),
      check: () => {},
    };
    await timeRound(subject, 1);
    expect([done[0], done.at(-1)]).toEqual(["begin", "end"]);
    expect(new Set(done.slice(1, -1))).toEqual(new Set(["run"]));
  });
});
