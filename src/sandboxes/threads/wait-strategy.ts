/** How long one way of waiting is measured: shorter than this, the time slices of other processes decide by chance. */
const WINDOW_MS = 20;

/** And for how many waits at least. */
const WINDOW_WAITS = 16;

/** A wait as long as this is not counted: there was nothing to send. */
const IDLE_MS = 20;

/** Spinning costs CPU time, so it has to be better than this share of the other. */
const WORTH = 0.9;

/** How many windows pass at most until the way that was worse is tried again. */
const MAX_INTERVAL = 64;

/**
 * Decides whether a thread spins for a moment before it sleeps when it waits for its next message. That is faster if
 * the machine has a core to spare, since waking a thread takes as long as a small task. If it has none, the spinning
 * thread keeps the sender from its core, and the wait takes longer. So both ways are measured. The better one is kept,
 * and the other one is tried again after an interval that doubles each time it is worse.
 */
export class WaitStrategy {
  #spins = true;
  /** Whether this window tries the way that was worse. */
  #isTrial = false;
  /** The mean of the last window of the better way. */
  #better = 0;
  /** How many windows of the better way lie between two trials, and how many there were since the last one. */
  #interval = 1;
  #windows = 0;
  #windowBegan: number | undefined;
  #waits = 0;
  #waitedMs = 0;

  /** Whether to spin now. */
  get spins(): boolean {
    return this.#spins;
  }

  /**
   * Learns from a wait.
   *
   * @param waitedMs How long it took.
   * @param now When it ended, in ms.
   */
  learn(waitedMs: number, now: number): void {
    this.#windowBegan ??= now;
    if (waitedMs >= IDLE_MS) {
      this.#windowBegan += waitedMs;
      return;
    }
    this.#waits++;
    this.#waitedMs += waitedMs;
    if (now - this.#windowBegan < WINDOW_MS || this.#waits < WINDOW_WAITS) return;
    this.#endWindow(this.#waitedMs / this.#waits);
    this.#windowBegan = now;
    this.#waits = 0;
    this.#waitedMs = 0;
  }

  #endWindow(mean: number): void {
    if (this.#isTrial) {
      this.#endTrial(mean);
      return;
    }
    this.#better = mean;
    if (++this.#windows < this.#interval) return;
    this.#isTrial = true;
    this.#spins = !this.#spins;
  }

  #endTrial(mean: number): void {
    const spinning = this.#spins ? mean : this.#better;
    const sleeping = this.#spins ? this.#better : mean;
    const spinningWins = spinning < sleeping * WORTH;
    this.#interval = spinningWins === this.#spins ? 1 : Math.min(2 * this.#interval, MAX_INTERVAL);
    this.#spins = spinningWins;
    this.#isTrial = false;
    this.#windows = 0;
  }
}
