import type { LaunchedOnLandlock } from "./launched-on-landlock.ts";

/** The most supervisors that wait. Each is a process of Node.js, with its memory. */
const MOST = 2;

/** Milliseconds after which a supervisor is not used any more. */
const MAX_AGE_MS = 60_000;

interface Waiting {
  readonly supervisor: LaunchedOnLandlock;
  readonly expiry: NodeJS.Timeout;
}

/** Supervisors that wait for the next calls, whatever these are granted. Each is used for one call. */
export class SupervisorPool {
  readonly #start: () => LaunchedOnLandlock;
  readonly #ending = new Set<Promise<unknown>>();
  /** The oldest first: it is most likely to be ready. */
  #waiting: readonly Waiting[] = [];
  #closed = false;

  /** @param start Starts a supervisor. */
  constructor(start: () => LaunchedOnLandlock) {
    this.#start = start;
  }

  /** Returns a supervisor: one that waits, or a new one. */
  take(): LaunchedOnLandlock {
    const found = this.#waiting.find(({ supervisor }) => !supervisor.hasExited);
    if (found === undefined) return this.#start();
    this.#remove(found);
    found.supervisor.keepAlive(true);
    return found.supervisor;
  }

  /** Starts a supervisor for the next call, in a later turn of the event loop. */
  prepare(): void {
    setImmediate(() => this.#add()).unref();
  }

  #add(): void {
    if (this.#closed || this.#waiting.length >= MOST) return;
    const supervisor = this.#start();
    supervisor.keepAlive(false);
    const expiry = setTimeout(() => this.#discard(waiting), MAX_AGE_MS).unref();
    const waiting: Waiting = { supervisor, expiry };
    this.#waiting = [...this.#waiting, waiting];
    void supervisor.exited.then(() => this.#remove(waiting));
  }

  #discard(waiting: Waiting): void {
    this.#remove(waiting);
    const { supervisor } = waiting;
    // Its end can be waited for.
    supervisor.keepAlive(true);
    supervisor.kill();
    supervisor.discard();
    const ended = supervisor.exited.finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }

  #remove(waiting: Waiting): void {
    clearTimeout(waiting.expiry);
    this.#waiting = this.#waiting.filter((each) => each !== waiting);
  }

  /** Ends the supervisors that wait, and waits until they have ended. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const waiting of this.#waiting) this.#discard(waiting);
    await Promise.all(this.#ending);
  }
}
