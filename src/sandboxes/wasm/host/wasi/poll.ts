const NANOSECONDS_PER_MS = 1_000_000;

/** `wasi:io/poll`'s resource: a moment to wait for, or work to be done. Streams here are always ready. */
export class Pollable {
  /** On the monotonic clock, in nanoseconds. */
  #readyAt = 0n;
  #work: (() => void) | undefined;

  /** One that is ready at a moment of the monotonic clock. */
  static at(readyAt: bigint): Pollable {
    const pollable = new Pollable();
    pollable.#readyAt = readyAt;
    return pollable;
  }

  /** One that is ready when work was done: whoever asks for it does it, and holds the thread meanwhile. */
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

  /** Holds the thread; the call's deadline ends it in the midst of that. */
  block(): void {
    while (!this.ready()) {
      const leftMs = Number(this.#readyAt - process.hrtime.bigint()) / NANOSECONDS_PER_MS;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, leftMs);
    }
  }

  /** Waits until one of several is ready, and tells which are. */
  static poll(pollables: readonly Pollable[]): Uint32Array {
    const [first, ...others] = pollables;
    if (first === undefined) throw new Error("poll needs something to wait for");
    others.reduce((soonest, other) => (other.#readyAt < soonest.#readyAt ? other : soonest), first).block();
    return Uint32Array.from(pollables.flatMap((pollable, index) => (pollable.ready() ? [index] : [])));
  }
}
