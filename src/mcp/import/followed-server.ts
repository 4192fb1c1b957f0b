import { MAX_DELAY_MS } from "../../base/timers/deadline-timer.ts";
import type { McpConnection } from "../../sandboxes/remote/mcp-client/connection.ts";
import { noticesOf, type OnMcpNotice } from "../../sandboxes/remote/mcp-client/notice.ts";
import type { ServerTools } from "./server-tools.ts";

/** Milliseconds in which further changes of a list do not have it read again. */
const PAUSE_MS = 500;

/** Problems of one list that are told one by one. */
const MAX_PROBLEMS = 50;

/** The shortest time for which a list is kept whose server says how long. */
const MIN_TTL_MS = 10_000;

/**
 * Lists the tools of a server again when they may have changed: it says so, it was started again, or the time of its list is
 * over. However often that happens, one list is read at a time, and at most two in a second.
 */
export class FollowedServer {
  readonly #tools: ServerTools;
  readonly #notify: ReturnType<typeof noticesOf>;
  readonly #connection: McpConnection;
  readonly #onRefreshed: () => void;
  readonly #unlisten: () => void;
  #running: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isStale = false;
  #isClosed = false;
  #isReady = false;

  /** @param onRefreshed Called when the list was read again. */
  constructor(
    connection: McpConnection,
    tools: ServerTools,
    onNotice: OnMcpNotice | undefined,
    onRefreshed: () => void,
  ) {
    this.#connection = connection;
    this.#tools = tools;
    this.#notify = noticesOf(connection.name, onNotice);
    this.#onRefreshed = onRefreshed;
    this.#unlisten = connection.listen({
      onConnected: () => this.#changed(),
      onListChanged: (kind) => kind === "tools" && this.#changed(),
    });
  }

  /**
   * Lists the tools for the first time. If that fails, they are listed as soon as the server is connected.
   *
   * @param turn What to wait for before a tool is registered.
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
      this.#onRefreshed();
    } catch (error) {
      this.#notify(
        "problem",
        `its tools cannot be listed: ${error instanceof Error ? error.message : error}`,
      );
    }
    await new Promise<void>((resolve) => setTimeout(resolve, PAUSE_MS).unref());
  }

  async #refresh(turn?: Promise<unknown>): Promise<void> {
    clearTimeout(this.#timer);
    const problems = await this.#tools.refresh(() => !this.#isClosed, turn);
    for (const problem of problems.slice(0, MAX_PROBLEMS)) this.#notify("problem", problem);
    const rest = problems.length - MAX_PROBLEMS;
    if (rest > 0) this.#notify("problem", `${rest} more of its tools cannot be used`);
    this.#expireAfter(this.#tools.ttlMs);
  }

  /** A server that tells of changes is asked again all the same: its message can be lost. */
  #expireAfter(ttlMs: number | undefined): void {
    if (ttlMs === undefined || this.#isClosed) return;
    const delay = Math.min(Math.max(ttlMs, MIN_TTL_MS), MAX_DELAY_MS);
    this.#timer = setTimeout(() => this.#changed(), delay).unref();
  }

  /** The connection, for requests that are no calls of tools. */
  get connection(): McpConnection {
    return this.#connection;
  }

  get tools(): ServerTools {
    return this.#tools;
  }

  /** Stops following. The tools stay registered. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#unlisten();
  }
}
