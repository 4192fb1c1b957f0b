import { DeadlineTimer } from "../base/deadline-timer.ts";
import { type ResolveHost, systemResolve } from "./connections/checked-lookup.ts";
import { ConnectionPools } from "./connections/pools.ts";
import { Exchange } from "./exchange.ts";
import type { EgressRequest, EgressResponse } from "./request.ts";

/** How an {@link Egress} is opened. */
export interface EgressOptions {
  /** Finds the addresses of names; they are checked whoever finds them. Default: the system's. */
  readonly resolve?: ResolveHost;
  /** Milliseconds for opening a connection. Default: 10 seconds. */
  readonly connectTimeoutMs?: number;
  /** Bytes of a response's headers. Default: 32 KiB. */
  readonly headerBytes?: number;
  /** Certificates of authorities to trust instead of the usual ones, in PEM. */
  readonly ca?: string;
}

/**
 * The one way out: every byte that leaves for a tool leaves here. A request goes to an origin that its grant
 * names, at a public address or one that the grant names, and nowhere else: names are resolved once, checked,
 * and the connection goes to what was checked. There is no proxy, whatever the environment says, and no retry.
 */
export class Egress {
  readonly #pools: ConnectionPools;
  readonly #deadlines = new DeadlineTimer();

  constructor(options: EgressOptions = {}) {
    const { resolve = systemResolve, connectTimeoutMs = 10_000, headerBytes = 32_768, ca } = options;
    this.#pools = new ConnectionPools(resolve, { connectTimeoutMs, headerBytes, ca });
  }

  /**
   * Sends a request and collects its response.
   *
   * @throws {EgressError} when there is no response; `sent` tells whether a byte may have left.
   */
  send(request: EgressRequest): Promise<EgressResponse> {
    return new Promise((resolve, reject) => {
      new Exchange(this.#pools, this.#deadlines, request, resolve, reject).start();
    });
  }

  /** Ends every exchange (`closed`) and closes every connection. Idempotent. */
  async close(): Promise<void> {
    await this.#pools.close();
    this.#deadlines.stop();
  }
}
