import { availableParallelism } from "node:os";

/** How many tasks a thread can be given at once: one that runs, and those that wait so that it never idles. */
export const SLOTS = 32;

/** A thread that looks keeps its core from whoever is to send the message, where there is one core alone. */
const HAS_CORES = availableParallelism() > 1;

/** How long a thread looks for the next message before it sleeps: waking it takes as long as a small task. */
const LOOK_MS = 0.05;

/** The states of a slot. A task goes from queued to running or withdrawn, whichever side is first. */
const QUEUED = 0;
const RUNNING = 1;
const WITHDRAWN = 2;
const DONE = 3;

/** Behind the slots' states: how many messages the pool has sent. */
const SENT = SLOTS;

/**
 * What a thread and its pool both see of the thread's tasks, without a message: who has claimed each one, and
 * when its work began. So a task that waits in a thread can be taken back from it, and whoever ends a thread knows
 * what ran in it.
 */
export class ThreadTable {
  /** What crosses to the thread. */
  readonly buffer: SharedArrayBuffer;
  /** When each slot's work began (`process.hrtime.bigint()`); 0 before. */
  readonly #startedAt: BigInt64Array;
  readonly #words: Int32Array;
  /** Whether looking pays: the last message came soon after it was waited for. */
  #looks = false;

  constructor(buffer: SharedArrayBuffer = new SharedArrayBuffer(SLOTS * 8 + (SLOTS + 1) * 4)) {
    this.buffer = buffer;
    this.#startedAt = new BigInt64Array(buffer, 0, SLOTS);
    this.#words = new Int32Array(buffer, SLOTS * 8, SLOTS + 1);
  }

  /** Puts a task into a slot. */
  fill(slot: number): void {
    Atomics.store(this.#startedAt, slot, 0n);
    Atomics.store(this.#words, slot, QUEUED);
  }

  /** The thread takes its next task; `false` when the pool took it back. */
  claim(slot: number): boolean {
    return Atomics.compareExchange(this.#words, slot, QUEUED, RUNNING) === QUEUED;
  }

  /** The pool takes a task back; `false` when the thread has it already. */
  withdraw(slot: number): boolean {
    return Atomics.compareExchange(this.#words, slot, QUEUED, WITHDRAWN) === QUEUED;
  }

  /** The work itself begins: the wall time counts from here. */
  start(slot: number): bigint {
    const now = process.hrtime.bigint();
    Atomics.store(this.#startedAt, slot, now);
    return now;
  }

  /** The task runs no more. */
  finish(slot: number): void {
    Atomics.store(this.#words, slot, DONE);
  }

  isQueued(slot: number): boolean {
    return Atomics.load(this.#words, slot) === QUEUED;
  }

  isDone(slot: number): boolean {
    return Atomics.load(this.#words, slot) === DONE;
  }

  /** When the work began; 0 before. */
  startedAt(slot: number): bigint {
    return Atomics.load(this.#startedAt, slot);
  }

  /** How many messages were sent to the thread. */
  get sent(): number {
    return Atomics.load(this.#words, SENT);
  }

  /** Waits until more messages were sent than the thread knows of: awake for a moment, then blocked. */
  awaitMessage(known: number): void {
    const from = performance.now();
    while (this.#looks && performance.now() - from < LOOK_MS) if (this.sent !== known) return;
    Atomics.wait(this.#words, SENT, known);
    this.#looks = HAS_CORES && performance.now() - from < 2 * LOOK_MS;
  }

  /** Tells the thread that a message was sent. */
  announceMessage(): void {
    Atomics.add(this.#words, SENT, 1);
    Atomics.notify(this.#words, SENT);
  }
}

/** Milliseconds from an instant to another. */
export function msBetween(from: bigint, to: bigint): number {
  return Number(to - from) / 1e6;
}
