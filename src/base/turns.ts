import { FairQueue, type QueueOwner } from "./fair-queue.ts";

/** Texts up to this length never wait. */
const SMALL = 4_096;

/** How much is read in a turn of the event loop, in UTF-16 code units, unless the first text alone is longer. */
const MAX_LENGTH: number = 32 * 1_024;

/** How long a slice of a work takes, in ms. */
const SLICE_MS = 4;

interface QueuedWork {
  readonly owner: QueueOwner;
  readonly length: number;
  readonly go: () => void;
}

const waiting = new FairQueue<QueuedWork>(({ owner }) => owner);
let read = 0;
let isScheduled = false;

/**
 * Asks to read an untrusted text in this turn of the event loop. Texts that arrive together are read in turns of their
 * own, so that other events are handled between them: reading a text of 1 MiB can take 10 ms. Their owners take turns.
 *
 * @param length The length of the text in UTF-16 code units.
 * @param owner Whose text it is.
 * @returns `undefined` if the text may be read now, otherwise a promise that resolves when it may be.
 */
export function awaitTurn(length: number, owner: QueueOwner): Promise<void> | undefined {
  if (length <= SMALL) return undefined;
  schedule();
  if (waiting.size === 0 && fits(length)) {
    read += length;
    return undefined;
  }
  return new Promise((go) => waiting.add({ owner, length, go }));
}

/** As {@link awaitTurn}, for a piece of work that takes several milliseconds: no other is done in the same turn of the event loop. */
export function awaitWork(owner: QueueOwner): Promise<void> | undefined {
  return awaitTurn(MAX_LENGTH, owner);
}

/** A long work of one owner, which continues in a later turn of the event loop whenever it has taken a few milliseconds. */
export class SlicedWork {
  readonly #owner: QueueOwner;
  #until = 0;

  constructor(owner: QueueOwner) {
    this.#owner = owner;
  }

  /** Returns a promise if the work has to continue later. The first call is for its beginning. */
  next(): Promise<void> | undefined {
    const now = performance.now();
    if (now < this.#until) return undefined;
    this.#until = now + SLICE_MS;
    return awaitWork(this.#owner)?.then(() => {
      this.#until = performance.now() + SLICE_MS;
    });
  }
}

/** A work in steps, each of which takes a few milliseconds at most. */
export type Steps<Result> = Generator<void, Result>;

/** Does a work in slices, so that other events are handled between them. */
export async function inSlices<Result>(steps: Steps<Result>, owner: QueueOwner): Promise<Result> {
  const work = new SlicedWork(owner);
  for (;;) {
    await work.next();
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Does all steps of a work at once. */
export function atOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Lets one work at a time run, of however many: their owners take turns. */
export class Turnstile {
  readonly #waiting = new FairQueue<Pick<QueuedWork, "owner" | "go">>(({ owner }) => owner);
  #isBusy = false;

  /** Runs a work when it has its turn. */
  async run<Result>(owner: QueueOwner, work: () => Promise<Result>): Promise<Result> {
    if (this.#isBusy) await new Promise<void>((go) => this.#waiting.add({ owner, go }));
    this.#isBusy = true;
    try {
      return await work();
    } finally {
      const next = this.#waiting.next();
      if (next === undefined) this.#isBusy = false;
      else next.go();
    }
  }
}

function fits(length: number): boolean {
  return read === 0 || read + length <= MAX_LENGTH;
}

function schedule(): void {
  if (isScheduled) return;
  isScheduled = true;
  setImmediate(onTurn);
}

function onTurn(): void {
  isScheduled = false;
  read = 0;
  for (let next = waiting.peek(); next !== undefined && fits(next.length); next = waiting.peek()) {
    waiting.next();
    read += next.length;
    next.go();
  }
  if (read > 0) schedule();
}
