import { createServer, type Server } from "node:http";
import { type AddressInfo, Server as NetServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { Authentication, type Credentials } from "./http/authentication.ts";
import { HostCheck, loopbackNames } from "./http/host-check.ts";
import { listen } from "./http/listen.ts";
import { isLocal, LISTEN_FORM, parseListenAddress, writeAuthority } from "./http/listen-address.ts";
import { Routes } from "./http/routes.ts";
import { ListenError } from "./listen-error.ts";
import { completeLimits, type ExecutorLimits } from "./load/limits.ts";
import type { ExecutorContext } from "./once/call-runner.ts";
import { Dispatcher } from "./once/dispatcher.ts";

/** What an executor is made of. Whoever opened the sandboxes closes them, after the executor. */
export interface ExecutorOptions extends ExecutorContext, Credentials {
  /** `HOST:PORT` (port 0: any that is free), `unix:PATH` or `fd:NUMBER`. */
  readonly listen: string;
  /**
   * What the header `host` may be, with the port unless it is 80 or 443, beside the address itself and the names
   * of loopback: the name of a load balancer, for example. Default: nothing else.
   */
  readonly hosts?: readonly string[];
  /** Default: `DEFAULT_LIMITS`. */
  readonly limits?: Partial<ExecutorLimits>;
}

/** So long kept connections stay open after the last answer: a request may be on its way. */
const LINGER_MS = 200;
const MAX_CONNECTIONS = 10_000;

/** A server that dispatches the calls of others, as `docs/remote-protocol.md` has it. */
export class Executor implements AsyncDisposable {
  readonly #server: Server;
  readonly #dispatcher: Dispatcher;
  readonly #routes: Routes;
  readonly #drainMs: number;
  #address = "";
  #closed: Promise<void> | undefined;

  private constructor(context: ExecutorContext, authentication: Authentication, limits: ExecutorLimits) {
    const { registry } = context;
    this.#drainMs = limits.drainMs;
    this.#dispatcher = new Dispatcher(context, limits);
    this.#routes = new Routes(this.#dispatcher, authentication, limits, () =>
      JSON.stringify({ tools: registry.definitions() }),
    );
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
    // None is left out, `origin` least of all: their size is bounded.
    this.#server.maxHeadersCount = 0;
    this.#server.maxConnections = MAX_CONNECTIONS;
  }

  /**
   * Starts an executor.
   *
   * @throws {ListenError} when it cannot listen, or others could reach it who need not prove who they are.
   * @throws {TypeError} when an option is none.
   */
  static async start(options: ExecutorOptions): Promise<Executor> {
    const { listen: where, hosts = [], keys, token, limits, ...context } = options;
    const authentication = new Authentication({
      ...(keys && { keys }),
      ...(token !== undefined && { token }),
    });
    const executor = new Executor(context, authentication, completeLimits(limits));
    await executor.#listen(where, hosts, authentication.isRequired);
    return executor;
  }

  async #listen(where: string, hosts: readonly string[], isProtected: boolean): Promise<void> {
    const address = parseListenAddress(where);
    if (address === undefined) throw new ListenError(`listen must be ${LISTEN_FORM}`);
    if (!isProtected && !isLocal(address)) throw unprotected();
    await listen(this.#server, address);
    // The path of a unix socket, which a descriptor may be too.
    const bound = this.#server.address() as AddressInfo | string | null;
    if (typeof bound !== "object" || bound === null) {
      this.#address = where;
      this.#routes.hostCheck = new HostCheck(undefined);
      return;
    }
    const { address: host, port } = bound;
    if (!isProtected && !isLocal({ kind: "tcp", host, port })) {
      this.#server.close();
      throw unprotected();
    }
    this.#address = writeAuthority(host, port);
    const own = address.kind === "tcp" ? [writeAuthority(address.host, port)] : [];
    const names = [...hosts, ...own, this.#address, ...loopbackNames(port)];
    this.#routes.hostCheck = new HostCheck(names.map((name) => name.toLowerCase()));
  }

  /** Where it listens: `127.0.0.1:7420`, `unix:/run/sandgate.sock` or `fd:3`. */
  get address(): string {
    return this.#address;
  }

  /**
   * Stops taking calls, lets those that it has end or cancels them after `limits.drainMs`, and closes. Each has
   * its answer when this resolves. Idempotent.
   */
  close(): Promise<void> {
    this.#closed ??= this.#drain();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #drain(): Promise<void> {
    let hasConnections = true;
    // Unlike the server's own `close`, this keeps idle connections: what comes on them is refused in words.
    const closed = new Promise<void>((resolve) => {
      NetServer.prototype.close.call(this.#server, () => {
        hasConnections = false;
        resolve();
      });
    });
    const cancel = setTimeout(() => this.#dispatcher.cancelAll(), this.#drainMs);
    await this.#dispatcher.drain();
    clearTimeout(cancel);
    // Whoever does not read an answer does not keep the process.
    const force = setTimeout(() => this.#server.closeAllConnections(), this.#drainMs);
    do await Promise.race([delay(LINGER_MS, undefined, { ref: false }), closed]);
    while (hasConnections && this.#routes.open > 0);
    this.#server.close();
    await closed;
    clearTimeout(force);
  }
}

function unprotected(): ListenError {
  return new ListenError(
    "without signature keys or a token an executor listens on loopback or a unix socket only",
  );
}
