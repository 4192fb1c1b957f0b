import { connect, type LookupFunction, type Socket } from "node:net";
import { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import { DeadlineTimer } from "../base/timers.ts";
import type { NetGrant } from "../policy/grant/net-grant.ts";
import { lookupFor, type ResolveHost, systemResolve, withoutBrackets } from "./checked-lookup.ts";
import { type ConnectionAware, ConnectionPools } from "./connections.ts";
import { EgressError, egressErrorOf, NO_TRAFFIC } from "./egress-error.ts";
import { Exchange } from "./exchange.ts";
import { netRulesOf, type OriginRule, originDenied } from "./net-rules.ts";
import {
  type ConnectRequest,
  checkMethod,
  type EgressRequest,
  type EgressResponse,
  type EgressStream,
  headersSize,
  readUrl,
  type StreamRequest,
} from "./request.ts";

/** The reason given to undici when a response is aborted. It is never reported. */
const UNWANTED = new Error("the response is no longer wanted");

/** Streams the response to one request, with back pressure. */
class ResponseStream implements Dispatcher.DispatchHandler, ConnectionAware {
  connection: ConnectionAware["connection"];
  readonly #origin: string;
  readonly #resolve: (stream: EgressStream) => void;
  readonly #reject: (error: EgressError) => void;
  readonly #onEnd: () => void;
  #controller: Dispatcher.DispatchController | undefined;
  #body: Readable | undefined;
  #cause: EgressError | undefined;
  #isSent = false;
  #isOver = false;

  /** @param onEnd Called once when the response is complete, or has failed. */
  constructor(
    origin: string,
    resolve: (stream: EgressStream) => void,
    reject: (error: EgressError) => void,
    onEnd: () => void,
  ) {
    this.#origin = origin;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#onEnd = onEnd;
  }

  /** Ends the exchange. */
  abort(error: EgressError): void {
    if (this.#isOver) return;
    this.#cause = error;
    if (this.#body !== undefined) this.#body.destroy(error);
    else if (this.#controller !== undefined) this.#controller.abort(UNWANTED);
    else this.#fail(error);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isOver || this.#cause !== undefined) controller.abort(UNWANTED);
    else this.#isSent = true;
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: object): void {
    if (status < 200) return;
    const body = new Readable({
      read: () => controller.resume(),
      destroy: (error, done) => {
        if (!this.#isOver) controller.abort(UNWANTED);
        this.#end();
        done(error);
      },
    });
    this.#body = body;
    this.#resolve({ status, headers: headers as EgressStream["headers"], body });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#body?.push(chunk) === false) controller.pause();
  }

  onResponseEnd(): void {
    this.#end();
    this.#body?.push(null);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(this.#cause ?? this.#errorOf(error));
  }

  #errorOf(error: Error): EgressError {
    const address = this.connection?.address ?? "";
    const contacted = this.#isSent ? [{ origin: this.#origin, address }] : [];
    return egressErrorOf(error, { contacted, bytesUp: 0, bytesDown: 0 });
  }

  #fail(error: EgressError): void {
    if (this.#isOver) return;
    this.#end();
    if (this.#body === undefined) this.#reject(error);
    else this.#body.destroy(error);
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#onEnd();
  }
}

/** TCP connections for callers that speak HTTP or TLS themselves. None is shared or reused. */
class RawConnections {
  readonly #resolve: ResolveHost;
  readonly #connectTimeoutMs: number;
  readonly #open = new Set<Socket>();
  /** Shared, so that connections that open at the same time resolve the name once. */
  readonly #lookups = new WeakMap<OriginRule, LookupFunction>();
  #isClosed = false;

  /** @param connectTimeoutMs Milliseconds for name resolution and connecting. */
  constructor(resolve: ResolveHost, connectTimeoutMs: number) {
    this.#resolve = resolve;
    this.#connectTimeoutMs = connectTimeoutMs;
  }

  /**
   * Opens a connection to an address that the rule allows. Each direction can be closed by itself.
   *
   * @throws {EgressError} if it cannot be opened.
   */
  async open(rule: OriginRule, signal: AbortSignal): Promise<Socket> {
    if (this.#isClosed) throw new EgressError("closed", "the egress is closed");
    const { protocol, hostname, port } = new URL(rule.origin);
    const socket = connect({
      host: withoutBrackets(hostname),
      port: Number(port) || (protocol === "https:" ? 443 : 80),
      lookup: this.#lookupFor(rule),
      allowHalfOpen: true,
      noDelay: true,
    });
    this.#open.add(socket);
    socket.once("close", () => this.#open.delete(socket));
    // Later errors are for the caller, who may not listen yet.
    socket.on("error", () => {});
    const timer = setTimeout(() => {
      socket.destroy(
        new EgressError(
          "connect_timeout",
          `'${hostname}' did not answer within ${this.#connectTimeoutMs} ms`,
        ),
      );
    }, this.#connectTimeoutMs);
    const abort = (): void => void socket.destroy(new EgressError("aborted", "the request was aborted"));
    signal.addEventListener("abort", abort);
    if (signal.aborted) abort();
    try {
      await new Promise<void>((resolve, reject) => {
        socket.once("connect", resolve).once("error", reject);
        socket.once("close", () => reject(new EgressError("closed", "the egress is closed")));
      });
      return socket;
    } catch (error) {
      throw egressErrorOf(error, NO_TRAFFIC);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
    }
  }

  #lookupFor(rule: OriginRule): LookupFunction {
    let lookup = this.#lookups.get(rule);
    if (lookup === undefined) {
      lookup = lookupFor(rule, this.#resolve);
      this.#lookups.set(rule, lookup);
    }
    return lookup;
  }

  /** Closes every connection. */
  close(): void {
    this.#isClosed = true;
    for (const socket of this.#open) socket.destroy();
  }
}

/** How requests of tools are sent. */
export interface EgressOptions {
  /** Resolves host names. The addresses that it returns are checked too. Default: the system's resolver. */
  readonly resolve?: ResolveHost;
  /** Milliseconds that opening a connection may take. Default: 10,000. */
  readonly connectTimeoutMs?: number;
  /** Maximum number of bytes of a response's headers. Default: 32 KiB. */
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
   * @throws {EgressError} if there is no response; `sent` says whether a byte may have been sent.
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
   * @throws {EgressError} if there is no response; `sent` says whether a byte may have been sent.
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
