import { FairQueue, type QueueOwner } from "./fair-queue.ts";

/** Texts up to this length never wait. */
const SMALL = 4_096;

/** How much is read in a turn of the event loop, in UTF-16 code units, unless the first text alone is longer. */
const MAX_LENGTH: number = 32 * 1_024;

interface Waiting {
  readonly owner: QueueOwner;
  readonly length: number;
  readonly go: () => void;
}

const waiting = new FairQueue<Waiting>(({ owner }) => owner);
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
