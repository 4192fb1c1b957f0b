import { strictEqual } from "node:assert";
import type { OpenCase } from "../harness/case.ts";

/** How an agent makes its calls in one run. */
export interface Pace {
  readonly count: number;
  /** How many are outstanding. */
  readonly atOnce: number;
}

/** The runs of one agent: `next`, which the agent calls between them, waits for the next run. */
export class Rounds {
  readonly #pace: Pace;
  #ready: PromiseWithResolvers<number> = Promise.withResolvers();
  #begin: ((pace: Pace) => void) | undefined;

  constructor(pace: Pace) {
    this.#pace = pace;
  }

  /** @param right How many calls of the last run had the right result. */
  next(right: number): Promise<Pace> {
    const { promise, resolve } = Promise.withResolvers<Pace>();
    this.#begin = resolve;
    this.#ready.resolve(right);
    return promise;
  }

  /** Resolves when the agent has called `next` for the first time. */
  async started(): Promise<void> {
    await this.#ready.promise;
  }

  /** Resolves to how many calls had the right result. */
  run(): Promise<number> {
    this.#ready = Promise.withResolvers();
    this.#begin?.(this.#pace);
    return this.#ready.promise;
  }
}

/** Returns a case that has all agents make their calls at the same time. */
export async function openRounds(rounds: readonly Rounds[], pace: Pace): Promise<Omit<OpenCase, "close">> {
  await Promise.all(rounds.map((each) => each.started()));
  return {
    run: () => Promise.all(rounds.map((each) => each.run())),
    check: (counts) => {
      for (const count of counts as number[]) strictEqual(count, pace.count);
    },
  };
}
