import { describe, expect, test } from "vitest";
import { WaitStrategy } from "../../../src/sandboxes/threads/thread-table.ts";

/** The waits of a machine, in ms. */
interface Machine {
  readonly spinning: number;
  readonly sleeping: number;
}

const IDLE: Machine = { spinning: 0.01, sleeping: 0.04 };
const BUSY: Machine = { spinning: 0.4, sleeping: 0.1 };

/** A thread that waits as a strategy says; each of its tasks takes 0.1 ms. */
class Thread {
  readonly strategy = new WaitStrategy();
  #now = 0;

  /** Runs for that long; returns the share of waits in which it did spin. */
  run(ms: number, { spinning, sleeping }: Machine): number {
    let waits = 0;
    let spins = 0;
    for (const end = this.#now + ms; this.#now < end; waits++) {
      if (this.strategy.spins) spins++;
      const waited = this.strategy.spins ? spinning : sleeping;
      this.#now += waited + 0.1;
      this.strategy.learn(waited, this.#now);
    }
    return spins / waits;
  }

  /** Has nothing to do for that long. */
  idle(ms: number): void {
    this.#now += ms;
    this.strategy.learn(ms, this.#now);
  }
}

describe("a thread that waits for messages", () => {
  test("spins on an idle machine, and sleeps on a busy one", () => {
    const idle = new Thread();
    idle.run(1_000, IDLE);
    expect(idle.run(10_000, IDLE)).toBeGreaterThan(0.95);
    const busy = new Thread();
    busy.run(1_000, BUSY);
    expect(busy.run(10_000, BUSY)).toBeLessThan(0.05);
  });

  test("sleeps if spinning is hardly better, since that costs CPU time", () => {
    const thread = new Thread();
    thread.run(1_000, { spinning: 0.095, sleeping: 0.1 });
    expect(thread.run(10_000, { spinning: 0.095, sleeping: 0.1 })).toBeLessThan(0.05);
  });

  test("tries the other way less and less often", () => {
    const thread = new Thread();
    const shares = [200, 400, 800, 1_600, 3_200].map((ms) => thread.run(ms, BUSY));
    expect(shares[0]).toBeGreaterThan(0.1);
    for (const [i, share] of shares.entries()) {
      if (i > 0) expect(share).toBeLessThan(shares[i - 1] as number);
    }
  });

  test("notices within two seconds that the machine has changed", () => {
    const thread = new Thread();
    thread.run(60_000, IDLE);
    thread.run(2_000, BUSY);
    expect(thread.run(1_000, BUSY)).toBeLessThan(0.5);
    thread.run(60_000, BUSY);
    thread.run(2_000, IDLE);
    expect(thread.run(1_000, IDLE)).toBeGreaterThan(0.5);
  });

  test.each([
    ["spins", IDLE, 1],
    ["sleeps", BUSY, 0],
  ])("%s though calls come in short bursts only", (_what, machine, share) => {
    const thread = new Thread();
    const burst = (): number => {
      thread.idle(1_000);
      return thread.run(5, machine);
    };
    for (let i = 0; i < 1_000; i++) burst();
    const shares = Array.from({ length: 1_000 }, burst);
    const mean = shares.reduce((sum, each) => sum + each) / shares.length;
    expect(Math.abs(mean - share)).toBeLessThan(0.05);
  });
});
