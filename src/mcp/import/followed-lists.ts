import { MAX_DELAY_MS } from "../../base/timers.ts";
import type { McpConnection } from "../../sandboxes/remote/mcp-client/connection.ts";
import { noticesOf, type OnMcpNotice } from "../../sandboxes/remote/mcp-client/notice.ts";
import type { ListKind } from "../../sandboxes/remote/mcp-client/wire.ts";

/** Milliseconds in which further changes of a list do not cause another read. */
const PAUSE_MS = 500;

/** Maximum number of problems of one list that are reported one by one. */
const MAX_PROBLEMS = 50;

/** The minimum of the times for which servers ask to cache a list. */
const MIN_TTL_MS = 10_000;

/** Lists of a server that are retained. */
export interface FollowedServerLists {
  /** Milliseconds for which they are valid; `undefined` if the server did not say. */
  readonly ttlMs: number | undefined;
  /**
   * Reads them, and returns a line for each problem, which may have text of the server.
   *
   * @param isCurrent Whether the result is still wanted.
   * @param turn What to wait for before anything is changed.
   * @throws if there is no list. What is retained then stays as it is.
   */
  refresh(isCurrent: () => boolean, turn?: Promise<unknown>): Promise<readonly string[]>;
}

/** What a {@link FollowedLists} follows. */
export interface FollowedOptions {
  readonly connection: McpConnection;
  readonly lists: FollowedServerLists;
  /** Which changes concern the lists. */
  readonly kinds: readonly ListKind[];
  readonly onNotice: OnMcpNotice | undefined;
  /** Called when the lists were read again. */
  readonly onRefreshed: () => void;
}

/**
 * Reads lists of a server again when they may have changed: it says so, it was started again, or the time of its list is
 * over. However often that happens, one list is read at a time, and at most two in a second.
 */
export class FollowedLists {
  readonly #options: FollowedOptions;
  readonly #notify: ReturnType<typeof noticesOf>;
  readonly #unlisten: () => void;
  #running: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isStale = false;
  #isClosed = false;
  #isReady = false;

  constructor(options: FollowedOptions) {
    const { connection, kinds, onNotice } = options;
    this.#options = options;
    this.#notify = noticesOf(connection.name, onNotice);
    this.#unlisten = connection.listen({
      onConnected: () => this.#changed(),
      onListChanged: (kind) => kinds.includes(kind) && this.#changed(),
    });
  }

  /**
   * Reads the lists for the first time. If that fails, they are read as soon as the server is connected.
   *
   * @param turn What to wait for before anything is changed.
   * @returns why there is no list; `undefined` if there is one.
   */
  async open(turn: Promise<unknown>): Promise<string | undefined> {
    try {
      await this.#refresh(turn);
      return undefined;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    } finally {
      this.#isReady = true;
    }
  }

  #changed(): void {
    if (this.#isClosed || !this.#isReady) return;
    this.#isStale = true;
    if (this.#running !== undefined) return;
    this.#running = this.#follow().finally(() => {
      this.#running = undefined;
      if (this.#isStale) this.#changed();
    });
  }

  async #follow(): Promise<void> {
    this.#isStale = false;
    try {
      await this.#refresh();
      this.#options.onRefreshed();
    } catch (error) {
      this.#notify(
        "problem",
        `its ${this.#options.kinds.join(" and ")} cannot be listed: ${error instanceof Error ? error.message : error}`,
      );
    }
    await new Promise<void>((resolve) => setTimeout(resolve, PAUSE_MS).unref());
  }

  async #refresh(turn?: Promise<unknown>): Promise<void> {
    clearTimeout(this.#timer);
    const problems = await this.#options.lists.refresh(() => !this.#isClosed, turn);
    for (const problem of problems.slice(0, MAX_PROBLEMS)) this.#notify("problem", problem);
    const rest = problems.length - MAX_PROBLEMS;
    if (rest > 0) this.#notify("problem", `${rest} more of its tools and offers cannot be used`);
    this.#expireAfter(this.#options.lists.ttlMs);
  }

  /** Also refreshes the lists of a server that notifies about changes: a notification can be lost. */
  #expireAfter(ttlMs: number | undefined): void {
    if (ttlMs === undefined || this.#isClosed) return;
    const delay = Math.min(Math.max(ttlMs, MIN_TTL_MS), MAX_DELAY_MS);
    this.#timer = setTimeout(() => this.#changed(), delay).unref();
  }

  /** Stops following. The current lists stay available. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#unlisten();
  }
}
