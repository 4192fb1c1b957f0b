import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { DeadlineTimer } from "../../../src/base/timers.ts";

interface Item {
  readonly name: string;
  deadline: number;
}

const expired: string[] = [];

/** A timer of items that are deleted when they are due, before `onExpired` is called. */
function openTimer(onExpired?: (item: Item) => void): DeadlineTimer<Item> {
  const timer = new DeadlineTimer<Item>({
    deadlineOf: ({ deadline }) => deadline,
    expire: (item) => {
      expect(performance.now()).toBeGreaterThanOrEqual(item.deadline);
      timer.delete(item);
      expired.push(item.name);
      onExpired?.(item);
    },
  });
  return timer;
}

const due = (name: string, inMs: number): Item => ({ name, deadline: performance.now() + inMs });

describe("one timer for many deadlines", () => {
  beforeEach(() => {
    expired.length = 0;
    vi.useFakeTimers();
  });
  afterEach(() => void vi.useRealTimers());

  test("a deadline timer expires each item when it is due, in any order of adding", () => {
    const timer = openTimer();
    for (const [name, inMs] of [
      ["c", 300],
      ["a", 100],
      ["b", 200],
    ] as const)
      timer.add(due(name, inMs));
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(99);
    expect(expired).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(expired).toEqual(["a"]);
    vi.advanceTimersByTime(200);
    expect(expired).toEqual(["a", "b", "c"]);
    expect(timer.items).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("a deadline timer does not expire a deleted item, not even one deleted by another expiry", () => {
    const [deleted, other] = [due("deleted", 50), due("other", 100)];
    const timer = openTimer(({ name }) => name === "first" && timer.delete(other));
    for (const item of [due("first", 100), deleted, other]) timer.add(item);
    timer.delete(deleted);
    vi.advanceTimersByTime(200);
    expect(expired).toEqual(["first"]);
  });

  test("a deadline timer watches an item that is added while another one expires", () => {
    const timer = openTimer(({ name }) => name === "first" && timer.add(due("second", 50)));
    timer.add(due("first", 100));
    timer.add(due("third", 1_000));
    vi.advanceTimersByTime(150);
    expect(expired).toEqual(["first", "second"]);
    vi.advanceTimersByTime(850);
    expect(expired).toEqual(["first", "second", "third"]);
  });

  test("a deadline timer respects a deadline that moved to a later time", () => {
    const timer = openTimer();
    const item = due("moved", 100);
    timer.add(item);
    item.deadline += 100;
    vi.advanceTimersByTime(199);
    expect(expired).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(expired).toEqual(["moved"]);
  });

  test("a deadline timer keeps an item whose deadline moves when it expires", () => {
    const timer = new DeadlineTimer<Item>({
      deadlineOf: ({ deadline }) => deadline,
      expire: (item) => {
        expired.push(item.name);
        item.deadline += 100;
      },
    });
    const item = due("again", 100);
    timer.add(item);
    vi.advanceTimersByTime(250);
    expect(expired).toEqual(["again", "again"]);
    expect(timer.items).toEqual([item]);
  });

  test("a deadline timer waits for deadlines beyond the longest delay of a timer", () => {
    const timer = openTimer();
    timer.add(due("never", Number.POSITIVE_INFINITY));
    timer.add(due("far", 40 * 24 * 3_600_000));
    vi.advanceTimersByTime(40 * 24 * 3_600_000 - 1);
    expect(expired).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(expired).toEqual(["far"]);
  });

  test("a stopped deadline timer expires nothing", () => {
    const timer = openTimer();
    timer.add(due("a", 100));
    timer.stop();
    expect(vi.getTimerCount()).toBe(0);
    vi.advanceTimersByTime(1_000);
    expect(expired).toEqual([]);
    timer.add(due("b", 100));
    vi.advanceTimersByTime(100);
    expect(expired).toEqual(["b"]);
  });
});

describe("a process with a deadline timer", () => {
  /** Adds an item, or adds and deletes it, and prints when the process ends and whether the item had expired. */
  async function run(keepsAlive: boolean, deletes: boolean): Promise<string> {
    const script = `
      import { DeadlineTimer } from ${JSON.stringify(import.meta.resolve("../../../src/base/timers.ts"))};
      let state = "pending";
      const expire = (item) => { state = "expired"; timer.delete(item); };
      const timer = new DeadlineTimer({ deadlineOf: (item) => item.deadline, expire, keepsAlive: ${keepsAlive} });
      const add = (ms) => { const item = { deadline: performance.now() + ms }; timer.add(item); return item; };
      if (${deletes}) {
        // When the second item is added, the timer is already set for the first one.
        timer.delete(add(60_000));
        timer.delete(add(120_000));
      } else {
        timer.delete(add(100));
        add(150);
      }
      process.on("exit", () => console.log(state));`;
    const args = ["--input-type=module", "--eval", script];
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 30_000 });
    return stdout.trim();
  }

  test("a process stays alive while a keep-alive deadline timer has items", async () => {
    expect(await run(true, false)).toBe("expired");
    expect(await run(true, true)).toBe("pending");
  });

  test("a process exits at once despite a deadline timer without keepsAlive", async () => {
    expect(await run(false, false)).toBe("pending");
  });
});
