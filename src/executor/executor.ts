import { createServer, type Server } from "node:http";
import { type AddressInfo, Server as NetServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { Authentication, type Credentials } from "./http/authentication.ts";
import { HostCheck, loopbackNames } from "./http/host-check.ts";
import { listen } from "./http/listen.ts";
import {
  isLocal,
  LISTEN_FORM,
  ListenError,
  parseListenAddress,
  writeAuthority,
} from "./http/listen-address.ts";
import type { Guards, MoreRoutes } from "./http/more-routes.ts";
import type { RefusedRequest } from "./http/refused-request.ts";
import { Routes } from "./http/routes.ts";
import { completeLimits, type ExecutorLimits } from "./load/limits.ts";
import type { ExecutorContext } from "./once/call-runner.ts";
import { Dispatcher } from "./once/dispatcher.ts";

/**
 * The options of {@link startExecutor}. The executor does not close the sandboxes: close them after it.
 *
 * @typeParam Embedder As of `DispatchContext`.
 */
export type ExecutorOptions<Embedder = unknown> = ExecutorContext<Embedder> & Credentials & ServerOptions;

interface ServerOptions {
  /** The address to listen on: `HOST:PORT` (port 0 for any free port), `unix:PATH` or `fd:NUMBER`. */
  readonly listen: string;
  /**
   * Further values of the `host` header to accept, for example the name of a load balancer, with the port
   * unless it is 80 or 443. The address itself and the names of loopback are always accepted. Default: none.
   */
  readonly hosts?: readonly string[];
  /** Limits of the load. Defaults: see {@link ExecutorLimits}. */
  readonly limits?: Partial<ExecutorLimits>;
  /**
   * Called for each request that is answered with a problem, for the operator's log. What it throws is ignored. Invalid
   * HTTP, which Node.js answers itself, does not get here. Default: not called.
   */
  readonly onRefusal?: (refused: RefusedRequest) => void;
}

/**
 * Milliseconds that idle connections stay open after the last response, since a request may be in transit.
 */
const LINGER_MS = 200;
const MAX_CONNECTIONS = 10_000;

/** A server that dispatches calls of other processes. `docs/remote-protocol.md` describes its protocol. */
export class Executor implements AsyncDisposable {
  readonly #server: Server;
  readonly #dispatcher: Dispatcher;
  readonly #routes: Routes;
  readonly #more: MoreRoutes | undefined;
  readonly #drainMs: number;
  readonly #drainDelayMs: number;
  /** Whether only this machine can reach it. */
  #isLocal = false;
  #address = "";
  #closed: Promise<void> | undefined;

  private constructor(
    context: ExecutorContext,
    authentication: Authentication,
    limits: ExecutorLimits,
    onRefusal: (refused: RefusedRequest) => void,
    more: MoreRoutes | undefined,
  ) {
    this.#more = more;
    this.#drainMs = limits.drainMs;
    this.#drainDelayMs = limits.drainDelayMs;
    this.#dispatcher = new Dispatcher(context, limits);
    const writeTools = (): string =>
      JSON.stringify({ tools: this.#dispatcher.context.registry.definitions() });
    const tell = (refused: RefusedRequest): void => {
      try {
        onRefusal(refused);
      } catch {
        // The client must get its answer.
      }
    };
    this.#routes = new Routes(this.#dispatcher, authentication, limits, writeTools, tell, more);
    this.#server = createServer(
      {
        maxHeaderSize: 16_384,
        headersTimeout: Math.min(10_000, limits.requestMs),
        requestTimeout: limits.requestMs,
        connectionsCheckingInterval: Math.min(1_000, limits.requestMs),
        keepAliveTimeout: 60_000,
      },
      (request, response) => this.#routes.handle(request, response),
    );
    // No header may be dropped, in particular not `origin`. Their total size is bounded instead of their
    // number.
    this.#server.maxHeadersCount = 0;
    this.#server.maxConnections = MAX_CONNECTIONS;
  }

  /**
   * See {@link startExecutor}.
   *
   * @param more Further routes, which are closed with the executor.
   * @internal
   */
  static async start(options: ExecutorOptions, more?: MoreRoutes): Promise<Executor> {
    const {
      listen: where,
      hosts = [],
      keys,
      token,
      tokenName,
      tokens,
      limits,
      onRefusal,
      ...context
    } = options;
    const own = {
      ...(keys && { keys }),
      ...(token !== undefined && { token }),
      ...(tokenName !== undefined && { tokenName }),
      ...(tokens && { tokens }),
    };
    const authentication = new Authentication(own, undefined, more?.hasCredentials);
    const executor = new Executor(
      context,
      authentication,
      completeLimits(limits),
      onRefusal ?? (() => {}),
      more,
    );
    await executor.#listen(where, hosts, authentication);
    return executor;
  }

  async #listen(where: string, hosts: readonly string[], authentication: Authentication): Promise<void> {
    const isProtected = authentication.isRequired;
    const address = parseListenAddress(where);
    if (address === undefined) throw new ListenError(`listen must be ${LISTEN_FORM}`);
    if (!isProtected && !isLocal(address)) throw unprotected();
    await listen(this.#server, address);
    // A string is the path of a unix socket, which a descriptor can also refer to.
    const bound = this.#server.address() as AddressInfo | string | null;
    if (typeof bound !== "object" || bound === null) {
      this.#address = where;
      this.#routes.hostCheck = new HostCheck(undefined);
      this.#isLocal = true;
      authentication.assumeLocal();
      return;
    }
    const { address: host, port } = bound;
    this.#isLocal = isLocal({ kind: "tcp", host, port });
    if (!isProtected && !this.#isLocal) {
      this.#server.close();
      throw unprotected();
    }
    this.#address = writeAuthority(host, port);
    const own = address.kind === "tcp" ? [writeAuthority(address.host, port)] : [];
    const names = [...hosts, ...own, this.#address, ...loopbackNames(port)];
    this.#routes.hostCheck = new HostCheck(names.map((name) => name.toLowerCase()));
  }

  /** The address that the executor listens on: `127.0.0.1:7420`, `unix:/run/sandgate.sock` or `fd:3`. */
  get address(): string {
    return this.#address;
  }

  /** What every request passes. @internal */
  get guards(): Guards {
    return this.#routes;
  }

  /**
   * Replaces tools, policy and credentials. Calls that have started continue under the old ones. Signatures that were
   * used are not accepted again.
   *
   * @throws {ListenError} if clients from other machines could reach it without credentials; nothing is replaced then.
   * @throws {TypeError} if a credential is invalid; nothing is replaced then.
   */
  reload({
    registry,
    policy,
    ...credentials
  }: Pick<ExecutorOptions, "registry" | "policy"> & Credentials): void {
    const authentication = new Authentication(credentials, this.#routes.authentication);
    if (!authentication.isRequired && !this.#isLocal) throw unprotected();
    this.#routes.authentication = authentication;
    this.#dispatcher.context = { ...this.#dispatcher.context, registry, policy };
  }

  /**
   * After `limits.drainDelayMs`, stops accepting calls, waits until the accepted ones end, cancels the rest after `limits.drainMs`, and
   * closes. All accepted calls have been answered when it resolves. Idempotent.
   */
  close(): Promise<void> {
    this.#closed ??= this.#drain();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #drain(): Promise<void> {
    this.#routes.isReady = false;
    if (this.#drainDelayMs > 0) await delay(this.#drainDelayMs);
    let hasConnections = true;
    // Unlike the HTTP server's `close`, this keeps idle connections open, so requests on them get a response.
    const closed = new Promise<void>((resolve) => {
      NetServer.prototype.close.call(this.#server, () => {
        hasConnections = false;
        resolve();
      });
    });
    const cancel = setTimeout(() => this.#dispatcher.cancelAll(), this.#drainMs);
    await Promise.all([this.#dispatcher.drain(), this.#more?.drain()]);
    clearTimeout(cancel);
    // Clients that do not read their responses must not keep the process alive.
    const force = setTimeout(() => this.#server.closeAllConnections(), this.#drainMs);
    do await Promise.race([delay(LINGER_MS, undefined, { ref: false }), closed]);
    while (hasConnections && this.#routes.open > 0);
    this.#server.close();
    await closed;
    clearTimeout(force);
  }
}

/**
 * Starts an executor.
 *
 * @throws {ListenError} if it cannot listen, or if clients from other machines could reach it without credentials.
 * @throws {TypeError} if an option is invalid.
 */
export function startExecutor<Embedder = unknown>(options: ExecutorOptions<Embedder>): Promise<Executor> {
  return Executor.start(options as ExecutorOptions);
}

function unprotected(): ListenError {
  return new ListenError(
    "without signature keys or a token, an executor can listen on loopback or a unix socket only",
  );
}
