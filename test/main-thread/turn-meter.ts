/**
 * The most CPU time that a turn of this thread's event loop may take because of a guest, in milliseconds. Other calls
 * wait for the turn to end. CPU time depends little on what else runs on the machine.
 */
export const MAX_STALL_MS = 20;

/** What a measurement adds: the clock of some kernels advances in steps of 4 ms, and garbage is collected now and then. */
const ALLOWANCE_MS = 10;

/** How often a work that exceeds the bound is measured in all. Compilation of our code by V8 occurs only at first. */
const ATTEMPTS = 5;

/** Measures the CPU time of this thread between two firings of a timer: that of one turn, or of several short ones. */
class TurnMeter {
  longestMs = 0;
  #before = process.threadCpuUsage();
  readonly #timer = setInterval(() => this.#lap(), 1);

  #lap(): void {
    const { user, system } = process.threadCpuUsage(this.#before);
    this.#before = process.threadCpuUsage();
    this.longestMs = Math.max(this.longestMs, (user + system) / 1_000);
  }

  stop(): number {
    clearInterval(this.#timer);
    this.#lap();
    return this.longestMs;
  }
}

/**
 * Runs a work, several times if a turn takes too long.
 *
 * @returns the CPU time of its longest turn in milliseconds: the least of all attempts.
 */
export async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < ATTEMPTS && least > MAX_STALL_MS; attempt++) {
    // The work's own start is in a turn of its own.
    await new Promise((resolve) => setTimeout(resolve, 5));
    const meter = new TurnMeter();
    await new Promise((resolve) => setTimeout(resolve, 2));
    await work();
    least = Math.min(least, meter.stop());
  }
  return least;
}

/** A value whose way through JSON takes about 12 ms of CPU time on a machine that does nothing else. */
const REFERENCE = Array.from({ length: 50_000 }, (_, index) => ({ [`n${index % 100}`]: index }));

/** How many times as long as the reference a turn may take. */
const REFERENCE_SHARE = 2.5;

/** Returns the CPU time of the reference in milliseconds. It grows where other work shares the core's caches and units. */
function referenceMs(): number {
  const times = Array.from({ length: ATTEMPTS }, () => {
    const before = process.threadCpuUsage();
    JSON.parse(JSON.stringify(REFERENCE));
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1_000;
  });
  return Math.min(...times);
}

/** Whether a turn is short enough: in milliseconds, or on a machine that is slow now, beside a fixed piece of work. */
export function isShort(turnMs: number): boolean {
  return turnMs <= MAX_STALL_MS + ALLOWANCE_MS || turnMs <= REFERENCE_SHARE * referenceMs();
}
