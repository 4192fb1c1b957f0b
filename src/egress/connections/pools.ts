import { isIP } from "node:net";
import type { Pool } from "undici";
import { EgressError } from "../egress-error.ts";
import type { OriginRule } from "../net-rules.ts";
import { AddressRules } from "./address-rules.ts";
import { checkAddress, checkedLookup, type ResolveHost } from "./checked-lookup.ts";
import { type ConnectionOptions, openPool } from "./pool.ts";

/** Pools that are kept although nothing uses them. */
const MAX_IDLE = 64;

/** Milliseconds between two looks at which pools are idle; one is closed at the second look. */
const SWEEP_MS = 30_000;

/** The connections of one rule for one origin, and who uses them. */
export interface SharedPool {
  readonly pool: Pool;
  /** Exchanges that run over it. */
  inFlight: number;
  /** Whether it was used since the last look. */
  isFresh: boolean;
}

/**
 * Every open connection. A connection is shared by requests to the same origin whose grants give it the same
 * addresses, for as long as it lives; each new one is checked anew. Nothing else is shared: another origin, or
 * another grant for the same one, opens its own.
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

  /** @throws {EgressError} when the host is an address that may not be contacted, or all is closed. */
  get(rule: OriginRule): SharedPool {
    const known = this.#pools.get(rule.key);
    if (known !== undefined) {
      known.isFresh = true;
      return known;
    }
    if (this.#isClosed) throw new EgressError("closed", "the egress is closed");
    const opened = { pool: this.#open(rule), inFlight: 0, isFresh: true };
    this.#makeRoom();
    this.#pools.set(rule.key, opened);
    this.#sweeper ??= setInterval(() => this.#sweep(), SWEEP_MS).unref();
    return opened;
  }

  #open({ origin, addresses }: OriginRule): Pool {
    const rules = new AddressRules(addresses);
    // A host that is an address is never looked up.
    const { hostname } = new URL(origin);
    const literal = hostname.replace(/^\[|\]$/g, "");
    if (isIP(literal) !== 0) checkAddress(hostname, literal, rules);
    return openPool(origin, checkedLookup(rules, this.#resolve), this.#options);
  }

  /** The oldest of too many idle pools go. */
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
