import { FairBudget } from "../../base/fair-budget.ts";
import type { FrameConnection } from "./frame-connection.ts";

/** The most framed connections, and how many of them each caller can have even if others have all of these. */
const MAX_CONNECTIONS = { all: 1_000, each: 16 };

/** How often connections are checked for what takes too long, in ms. */
const CHECK_MS = 1_000;

/** The open framed connections of an executor. */
export class FrameConnections {
  readonly #open = new Set<FrameConnection>();
  readonly #budget = new FairBudget(MAX_CONNECTIONS.all, MAX_CONNECTIONS.each);
  readonly #maxUnreadBytes: number;
  /** The connections that were congested at the last check. */
  #congested = new Set<FrameConnection>();
  #timer: NodeJS.Timeout | undefined;

  /** @param maxUnreadBytes The most bytes that the connections of one caller may hold because they are not read. */
  constructor(maxUnreadBytes: number) {
    this.#maxUnreadBytes = maxUnreadBytes;
  }

  /** The number of connections. */
  get size(): number {
    return this.#open.size;
  }

  /** Whether something has still to be told to a client. */
  get areBusy(): boolean {
    return [...this.#open].some(({ isBusy }) => isBusy);
  }

  /** Takes a place for a connection; returns `undefined` if the caller has too many, and else a function that frees it. */
  takePlace(caller: string): (() => void) | undefined {
    if (!this.#budget.take(caller, 1)) return undefined;
    let isTaken = true;
    return () => {
      if (isTaken) this.#budget.giveBack(caller, 1);
      isTaken = false;
    };
  }

  add(connection: FrameConnection): void {
    this.#open.add(connection);
    this.#timer ??= setInterval(() => this.#check(), CHECK_MS).unref();
  }

  delete(connection: FrameConnection): void {
    this.#open.delete(connection);
    if (this.#open.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Accepts no further calls. */
  goAway(): void {
    for (const connection of this.#open) connection.goAway();
  }

  /** Ends the connections after what was sent. */
  end(): void {
    for (const connection of this.#open) connection.end();
  }

  /** Ends the connections at once, and cancels their calls. */
  destroy(): void {
    for (const connection of this.#open) connection.destroy();
  }

  #check(): void {
    const now = performance.now();
    const before = this.#congested;
    this.#congested = new Set([...this.#open].filter(({ isCongested }) => isCongested));
    const unread = new Map<string, number>();
    for (const connection of this.#open) {
      connection.checkTimes(now);
      // Answers of a reader that was not slow for a second will be read. One that reads a little now and then is slow.
      const isBlocked = now - (connection.blockedSince ?? now) >= CHECK_MS;
      if (!isBlocked && !(before.has(connection) && this.#congested.has(connection))) continue;
      const { caller } = connection.sender;
      const bytes = (unread.get(caller) ?? 0) + connection.unreadBytes;
      unread.set(caller, bytes);
      if (bytes > this.#maxUnreadBytes) connection.destroy();
    }
  }
}
