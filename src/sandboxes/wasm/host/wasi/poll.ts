import { MisuseError } from "../misuse.ts";

const NANOSECONDS_PER_MS = 1_000_000;

/** The resource `pollable` of `wasi:io/poll`: a time to wait for, or work to do. Those of streams are always ready. */
export class Pollable {
  /** On the monotonic clock, in nanoseconds. */
  #readyAt = 0n;
  #work: (() => void) | undefined;

  /** Returns a pollable that is ready at a time of the monotonic clock, in nanoseconds. */
  static at(readyAt: bigint): Pollable {
    const pollable = new Pollable();
    pollable.#readyAt = readyAt;
    return pollable;
  }

  /** Returns a pollable that is ready when work is done. The first poll does the work, which blocks the thread. */
  static after(work: () => void): Pollable {
    const pollable = new Pollable();
    pollable.#work = work;
    return pollable;
  }

  ready(): boolean {
    const work = this.#work;
    this.#work = undefined;
    work?.();
    return this.#readyAt <= process.hrtime.bigint();
  }

  /** Blocks the thread. The call's deadline terminates the thread if necessary. */
  block(): void {
    while (!this.ready()) {
      const leftMs = Number(this.#readyAt - process.hrtime.bigint()) / NANOSECONDS_PER_MS;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, leftMs);
    }
  }

  /** Waits until at least one pollable is ready, and returns the indices of all that are ready. */
  static poll(pollables: readonly Pollable[]): Uint32Array {
    const [first, ...others] = pollables;
    if (first === undefined) throw new MisuseError("wasi:io/poll", "it called 'poll' without pollables");
    others.reduce((soonest, other) => (other.#readyAt < soonest.#readyAt ? other : soonest), first).block();
    return Uint32Array.from(pollables.flatMap((pollable, index) => (pollable.ready() ? [index] : [])));
  }
}
