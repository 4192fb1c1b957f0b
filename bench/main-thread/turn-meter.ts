/** A work during which other calls want to run, too. */
export interface StallCase {
  /** What the work does, or whose guest does it. */
  readonly name: string;
  /**
   * Makes what the work needs.
   *
   * @param later What is disposed after the last attempt.
   * @returns the work, which runs once for each attempt and throws if its result is wrong.
   */
  readonly prepare: (later: AsyncDisposableStack) => Work | Promise<Work>;
}

export type Work = () => unknown;

/** The longest turn of the event loop during a work: CPU time of this thread. */
export interface LongestTurn {
  readonly ms: number;
  /** How many times as long as the reference, which was measured right before and after the work. */
  readonly ratio: number;
}

/** Measures the CPU time of this thread between two firings of a timer: that of one turn, or of several short ones. */
class TurnMeter {
  #longestMs = 0;
  #before = process.threadCpuUsage();
  readonly #timer = setInterval(() => this.#lap(), 1);

  #lap(): void {
    this.#longestMs = Math.max(this.#longestMs, msSince(this.#before));
    this.#before = process.threadCpuUsage();
  }

  stop(): number {
    clearInterval(this.#timer);
    this.#lap();
    return this.#longestMs;
  }
}

/**
 * Runs a work a number of times.
 *
 * @param isEnough Ends the attempts early.
 * @returns the turn of the attempt with the least ratio: V8 compiles our code during the first ones.
 */
export async function longestTurn(
  work: Work,
  attempts: number,
  isEnough: (turn: LongestTurn) => boolean,
): Promise<LongestTurn> {
  let least: LongestTurn = { ms: Number.POSITIVE_INFINITY, ratio: Number.POSITIVE_INFINITY };
  for (let attempt = 0; attempt < attempts && !isEnough(least); attempt++) {
    const referenceBefore = referenceMs();
    // The work's own start is in a turn of its own.
    await new Promise((resolve) => setTimeout(resolve, 5));
    const meter = new TurnMeter();
    await new Promise((resolve) => setTimeout(resolve, 2));
    await work();
    const ms = meter.stop();
    const ratio = ms / ((referenceBefore + referenceMs()) / 2);
    if (ratio < least.ratio) least = { ms, ratio };
  }
  return least;
}

/** A value whose way through JSON takes 8 to 12 ms of CPU time on a machine that does nothing else. */
const REFERENCE = Array.from({ length: 50_000 }, (_, index) => ({ [`n${index % 100}`]: index }));

/** Returns the CPU time of the reference in milliseconds. It grows where other work shares the core's caches and units. */
export function referenceMs(): number {
  const times = Array.from({ length: 3 }, () => {
    const before = process.threadCpuUsage();
    JSON.parse(JSON.stringify(REFERENCE));
    return msSince(before);
  });
  return Math.min(...times);
}

function msSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}
