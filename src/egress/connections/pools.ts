import type { Pool } from "undici";
import { EgressError } from "../egress-error.ts";
import type { OriginRule } from "../net-rules.ts";
import { lookupFor, type ResolveHost } from "./checked-lookup.ts";
import { type ConnectionOptions, openPool } from "./pool.ts";

/** How many idle pools are retained. */
const MAX_IDLE = 64;

/** Milliseconds between two sweeps. A pool is closed if it was not used since the previous sweep. */
const SWEEP_MS = 30_000;

/** The connections of one rule for one origin, and how they are used. */
export interface SharedPool {
  readonly pool: Pool;
  /** Exchanges that run over it. */
  inFlight: number;
  /** Whether it was used since the last sweep. */
  isFresh: boolean;
}

/**
 * All open connections. Requests share a connection if they go to the same origin and their grants allow the same
 * addresses for it. Each new connection resolves and checks the address again.
 */
export class ConnectionPools {
  readonly #resolve: ResolveHost;
  readonly #options: ConnectionOptions;
  readonly #pools = new Map<string, SharedPool>();
  #sweeper: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(resolve: ResolveHost, options: ConnectionOptions) {
    this.#resolve = resolve;
    this.#options = options;
  }

  /** @throws {EgressError} if the host is an address that may not be contacted, or the pools are closed. */
  get(rule: OriginRule): SharedPool {
    const known = this.#pools.get(rule.key);
    if (known !== undefined) {
      known.isFresh = true;
      return known;
    }
    if (this.#isClosed) throw new EgressError("closed", "the egress is closed");
    const pool = openPool(rule.origin, lookupFor(rule, this.#resolve), this.#options);
    const opened = { pool, inFlight: 0, isFresh: true };
    this.#makeRoom();
    this.#pools.set(rule.key, opened);
    this.#sweeper ??= setInterval(() => this.#sweep(), SWEEP_MS).unref();
    return opened;
  }

  /** Closes the oldest idle pools if there are too many. */
  #makeRoom(): void {
    const idle = [...this.#pools].filter(([, { inFlight }]) => inFlight === 0);
    for (const [key, shared] of idle.slice(0, Math.max(0, idle.length - MAX_IDLE + 1))) {
      this.#close(key, shared);
    }
  }

  #sweep(): void {
    for (const [key, shared] of this.#pools) {
      if (shared.inFlight === 0 && !shared.isFresh) this.#close(key, shared);
      shared.isFresh = false;
    }
    if (this.#pools.size === 0) this.#stopSweeping();
  }

  #close(key: string, { pool }: SharedPool): void {
    this.#pools.delete(key);
    void pool.close();
  }

  #stopSweeping(): void {
    clearInterval(this.#sweeper);
    this.#sweeper = undefined;
  }

  /** Ends every exchange and every connection. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopSweeping();
    const pools = [...this.#pools.values()];
    this.#pools.clear();
    await Promise.all(pools.map(({ pool }) => pool.destroy()));
  }
}
