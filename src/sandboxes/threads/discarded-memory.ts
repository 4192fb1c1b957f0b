import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/**
 * V8 collects unused linear memories only when its own heap grows, and does not count their growth: a thread
 * could accumulate gigabytes of them. A collection takes some milliseconds.
 */
const MAX_BYTES = 40 * 1_024 * 1_024;

/** Counts the linear memories that a thread no longer uses, and makes V8 release them. */
export class DiscardedMemory {
  #bytes = 0;

  /** Counts memories that nothing refers to any more once the task has ended. */
  add(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Makes V8 release the memories if they are large. */
  release(): void {
    if (this.#bytes <= MAX_BYTES) return;
    this.#bytes = 0;
    collectGarbage();
  }
}

let collect: (() => void) | undefined;

/** Makes V8 release everything in this thread that nothing refers to any more. It takes some milliseconds. */
export function collectGarbage(): void {
  collect ??= exposedCollector();
  collect();
}

/** V8 has no other function for it. The flag only has an effect on contexts that are created while it is set. */
function exposedCollector(): () => void {
  setFlagsFromString("--expose-gc");
  try {
    return runInNewContext("gc") as () => void;
  } finally {
    setFlagsFromString("--no-expose-gc");
  }
}
