import { availableParallelism } from "node:os";

/**
 * How long each way of waiting is measured. In less time, the time slices of other processes decide the
 * result.
 */
const WINDOW_MS = 20;

/** Minimum number of waits in a measurement. */
const WINDOW_WAITS = 16;

/** A wait as long as this is not counted: there was nothing to send. */
const IDLE_MS = 20;

/** Spinning costs CPU time, so its mean has to be below this share of that of sleeping. */
const WORTH = 0.9;

/** Maximum number of windows until the worse way is tried again. */
const MAX_INTERVAL = 64;

/**
 * Decides whether a thread spins for a moment before it sleeps when it waits for its next message. That is
 * faster if the machine has a core to spare, since waking a thread takes as long as a small task. Otherwise,
 * the spinning thread occupies the sender's core, and the wait takes longer. So both ways are measured: the
 * better one is used, and the other one is tried again after an interval that doubles each time it is worse.
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

/** Maximum number of tasks in a thread: a running one, and waiting ones, which avoid idle time. */
export const SLOTS = 32;

/** On a single core, a spinning thread would block the sender of the message. */
const HAS_CORES = availableParallelism() > 1;

/** How long a thread spins at most. */
const SPIN_MS = 0.05;

/** If a message took longer than this, the next one is not likely to come while the thread spins. */
const SHORT_WAIT_MS = 2 * SPIN_MS;

/** The states of a slot. A queued task becomes running or withdrawn, depending on which side is first. */
const QUEUED = 0;
const RUNNING = 1;
const WITHDRAWN = 2;
const DONE = 3;

/** The index, after the slots' states, of the number of messages that the pool has sent. */
const SENT = SLOTS;

/**
 * The state of a thread's tasks in memory that the thread shares with its pool: which side has claimed each
 * task, and when its work started. The pool can therefore take back a task that waits in a thread, and knows
 * what was running when it ends a thread.
 */
export class ThreadTable {
  /** The shared memory, which is passed to the thread. */
  readonly buffer: SharedArrayBuffer;
  /** When the work of each slot started (`process.hrtime.bigint()`); 0 before. */
  readonly #startedAt: BigInt64Array;
  readonly #words: Int32Array;
  readonly #strategy = new WaitStrategy();
  /** Whether the last message came soon after the thread had begun to wait for it. */
  #wasShort = false;

  constructor(buffer: SharedArrayBuffer = new SharedArrayBuffer(SLOTS * 8 + (SLOTS + 1) * 4)) {
    this.buffer = buffer;
    this.#startedAt = new BigInt64Array(buffer, 0, SLOTS);
    this.#words = new Int32Array(buffer, SLOTS * 8, SLOTS + 1);
  }

  /** Marks a slot as queued. */
  fill(slot: number): void {
    Atomics.store(this.#startedAt, slot, 0n);
    Atomics.store(this.#words, slot, QUEUED);
  }

  /** Claims a task for the thread; returns `false` if the pool has taken it back. */
  claim(slot: number): boolean {
    return Atomics.compareExchange(this.#words, slot, QUEUED, RUNNING) === QUEUED;
  }

  /** Claims a task for the pool, which takes it back; returns `false` if the thread has claimed it. */
  withdraw(slot: number): boolean {
    return Atomics.compareExchange(this.#words, slot, QUEUED, WITHDRAWN) === QUEUED;
  }

  /** Records that the work of a task starts. Returns the current time. */
  start(slot: number): bigint {
    const now = process.hrtime.bigint();
    Atomics.store(this.#startedAt, slot, now);
    return now;
  }

  /** Marks a task as done. */
  finish(slot: number): void {
    Atomics.store(this.#words, slot, DONE);
  }

  isDone(slot: number): boolean {
    return Atomics.load(this.#words, slot) === DONE;
  }

  /** Returns when the work of a task started; 0 before. */
  startedAt(slot: number): bigint {
    return Atomics.load(this.#startedAt, slot);
  }

  /** The number of messages that were sent to the thread. */
  get sent(): number {
    return Atomics.load(this.#words, SENT);
  }

  /** Waits until more messages were sent than the thread has seen: it may spin for a moment, then it sleeps. */
  awaitMessage(seen: number): void {
    const from = performance.now();
    const isThere = this.#wasShort && this.#strategy.spins && this.#spin(seen, from + SPIN_MS);
    if (!isThere) Atomics.wait(this.#words, SENT, seen);
    const now = performance.now();
    this.#wasShort = HAS_CORES && now - from < SHORT_WAIT_MS;
    this.#strategy.learn(now - from, now);
  }

  /** Returns whether a message arrived in time. */
  #spin(seen: number, until: number): boolean {
    while (performance.now() < until) if (this.sent !== seen) return true;
    return false;
  }

  /** Notifies the thread of a sent message. */
  announceMessage(): void {
    Atomics.add(this.#words, SENT, 1);
    Atomics.notify(this.#words, SENT);
  }
}

/** Returns the milliseconds between two times of `process.hrtime.bigint()`. */
export function msBetween(from: bigint, to: bigint): number {
  return Number(to - from) / 1e6;
}
