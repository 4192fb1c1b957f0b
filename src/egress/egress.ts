import type { Socket } from "node:net";
import { DeadlineTimer } from "../base/timers/deadline-timer.ts";
import type { NetGrant } from "../policy/grant/net-grant.ts";
import { type ResolveHost, systemResolve } from "./connections/checked-lookup.ts";
import { ConnectionPools } from "./connections/pools.ts";
import { RawConnections } from "./connections/raw-connections.ts";
import { EgressError } from "./egress-error.ts";
import { Exchange } from "./exchange.ts";
import { netRulesOf, originDenied } from "./net-rules.ts";
import type {
  ConnectRequest,
  EgressRequest,
  EgressResponse,
  EgressStream,
  StreamRequest,
} from "./request.ts";
import { checkMethod, headersSize, readUrl } from "./request-check.ts";
import { ResponseStream } from "./response-stream.ts";

/** How requests of tools are sent. */
export interface EgressOptions {
  /** Resolves host names. The addresses that it returns are checked too. Default: the system's resolver. */
  readonly resolve?: ResolveHost;
  /** Milliseconds that opening a connection may take. Default: 10,000. */
  readonly connectTimeoutMs?: number;
  /** The most bytes of a response's headers. Default: 32 KiB. */
  readonly headerBytes?: number;
  /** Certificate authorities to trust in place of the default ones, in PEM. */
  readonly ca?: string;
}

/**
 * Sends all HTTP requests of tools. A request can reach only origins that its grant names, at public addresses or at
 * addresses that the grant names. A host name is resolved once for each connection, which goes to the address that
 * was checked. Proxies of the environment are ignored, and requests are never retried.
 */
export class Egress {
  readonly #pools: ConnectionPools;
  readonly #raw: RawConnections;
  // The timer does not keep the process alive: each exchange has a socket or a lookup that does.
  readonly #deadlines = new DeadlineTimer<Exchange>({
    deadlineOf: (exchange) => exchange.deadline,
    expire: (exchange) => exchange.expire(),
  });

  constructor(options: EgressOptions = {}) {
    const { resolve = systemResolve, connectTimeoutMs = 10_000, headerBytes = 32_768, ca } = options;
    this.#pools = new ConnectionPools(resolve, { connectTimeoutMs, headerBytes, ca });
    this.#raw = new RawConnections(resolve, connectTimeoutMs);
  }

  /**
   * Sends a request and returns its whole response.
   *
   * @throws {EgressError} if there is no response; `sent` tells whether a byte may have been sent.
   */
  send(request: EgressRequest): Promise<EgressResponse> {
    return new Promise((resolve, reject) => {
      new Exchange(this.#pools, this.#deadlines, request, resolve, reject).start();
    });
  }

  /** Whether the grants name the origin of a URL. Its addresses are checked when a request is sent. */
  allows(url: URL, grants: readonly NetGrant[]): boolean {
    return netRulesOf(grants).ruleFor(url) !== undefined;
  }

  /**
   * Opens a TCP connection to an origin, over which the caller speaks HTTP or TLS itself. The caller counts and bounds what
   * is sent and received.
   *
   * @throws {EgressError} if the grants do not name the origin, or there is no connection.
   */
  async connect({ url, grants, signal }: ConnectRequest): Promise<Socket> {
    const rule = netRulesOf(grants).ruleFor(url);
    if (rule === undefined) throw originDenied(url);
    return await this.#raw.open(rule, signal);
  }

  /**
   * Sends a request, and returns its response as soon as the head has arrived. Redirects are not followed.
   *
   * @throws {EgressError} if there is no response; `sent` tells whether a byte may have been sent.
   */
  async stream(request: StreamRequest): Promise<EgressStream> {
    const { method, headers = {}, body = null, grants, signal, headTimeoutMs } = request;
    if (signal?.aborted) throw new EgressError("aborted", "the request was aborted");
    checkMethod(method);
    headersSize(headers);
    const url = readUrl(request.url);
    const rule = netRulesOf(grants).ruleFor(url);
    if (rule === undefined) throw originDenied(url);
    const shared = this.#pools.get(rule);
    return await new Promise((resolve, reject) => {
      const abort = (): void => response.abort(new EgressError("aborted", "the request was aborted"));
      const response = new ResponseStream(rule.origin, resolve, reject, () => {
        shared.inFlight--;
        signal?.removeEventListener("abort", abort);
      });
      shared.inFlight++;
      signal?.addEventListener("abort", abort);
      const path = url.pathname + url.search;
      shared.pool.dispatch({ path, method, headers, body, headersTimeout: headTimeoutMs }, response);
    });
  }

  /** Fails every running exchange with `closed`, and closes every connection. Idempotent. */
  async close(): Promise<void> {
    this.#raw.close();
    await this.#pools.close();
    this.#deadlines.stop();
  }
}
