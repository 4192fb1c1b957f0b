import { performance } from "node:perf_hooks";
import { setImmediate } from "node:timers/promises";

/** Milliseconds of work in a turn of the event loop. */
const TURN_MS = 5;

/** Paces a long piece of work: it yields to other events, has a deadline, and can be cancelled. */
export class Pace {
  readonly #signal: AbortSignal;
  readonly #deadline: number;
  #turnEnd: number;
  #hasEnded = false;

  /** @param timeMs After how many milliseconds the time is up. */
  constructor(signal: AbortSignal, timeMs: number) {
    const now = performance.now();
    this.#signal = signal;
    this.#deadline = now + timeMs;
    this.#turnEnd = now + TURN_MS;
  }

  /** Whether the time is up. The work must end then. */
  get isOver(): boolean {
    this.#hasEnded ||= performance.now() >= this.#deadline;
    return this.#hasEnded;
  }

  /** Whether the work was ended because the time was up. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /**
   * Call it between steps of at most a few milliseconds.
   *
   * @returns `undefined` if the work can continue in this turn of the event loop, otherwise a promise of the
   *   next one.
   * @throws the reason of the signal if that is aborted. The promise rejects with it, too.
   */
  turn(): Promise<void> | undefined {
    this.#signal.throwIfAborted();
    return performance.now() < this.#turnEnd ? undefined : this.#next();
  }

  async #next(): Promise<void> {
    await setImmediate();
    this.#signal.throwIfAborted();
    this.#turnEnd = performance.now() + TURN_MS;
  }
}

/** How many files are read at once. */
const WIDTH = 8;

/** Maps the items of a sequence in order. Reads ahead, as reading a small file is mostly waiting. */
export async function* readAhead<Item, Result>(
  items: AsyncIterable<Item>,
  read: (item: Item) => Promise<Result>,
): AsyncGenerator<Result, void, undefined> {
  const reading: Promise<Result>[] = [];
  try {
    for await (const item of items) {
      const result = read(item);
      // It is awaited later.
      result.catch(() => undefined);
      reading.push(result);
      if (reading.length >= WIDTH) yield (await reading.shift()) as Result;
    }
    while (reading.length > 0) yield (await reading.shift()) as Result;
  } finally {
    await Promise.allSettled(reading);
  }
}
