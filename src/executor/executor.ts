import type { Server } from "node:http";
import { Server as NetServer, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { FairBudget } from "../base/fair-budget.ts";
import { refuseUnknown } from "../base/unknown-names.ts";
import { checkMembers, type DispatchContext, guardRedactions } from "../engine/call/context.ts";
import { Authentication, type Credentials } from "../http/authentication.ts";
import { Door } from "../http/door.ts";
import { BASE_PATH_FORM, isBasePath, refuseUnprotected } from "../http/listen-address.ts";
import { bind, openServer } from "../http/open-server.ts";
import type { RefusedRequest } from "../http/refusals.ts";
import { openUnreadBudget } from "../http/respond.ts";
import { type CheckedTls, checkTls } from "../http/tls/server-tls.ts";
import type { RefusedHandshake, TlsConnections } from "../http/tls/tls-connections.ts";
import type { Principal } from "../policy/principal.ts";
import { FrameUpgrades } from "./frames/frame-upgrades.ts";
import { completeLimits, type ExecutorLimits, HELD_BODIES } from "./limits.ts";
import type { ExecutorContext } from "./once/call-runner.ts";
import { Dispatcher } from "./once/dispatcher.ts";
import { contextOf, EXECUTOR_NAMES, type ExecutorOptions, type ListeningOptions } from "./options.ts";
import { ExecutorRoutes, type MoreRoutes } from "./routes.ts";

/**
 * Milliseconds that idle connections stay open after the last response, since a request may be in transit.
 */
const LINGER_MS = 200;
/** The fewest connections that wait to be accepted. The kernel may allow fewer (`net.core.somaxconn` on Linux). */
const MIN_BACKLOG = 1_024;
const MAX_BACKLOG = 65_535;

interface ExecutorParts {
  readonly context: ExecutorContext;
  readonly authentication: Authentication;
  readonly limits: ExecutorLimits;
  readonly tls: CheckedTls | undefined;
  readonly hasFrames: boolean;
}

/** A server that dispatches calls of other processes. `docs/remote-protocol.md` describes its protocol. */
export class Executor implements AsyncDisposable {
  readonly #server: Server;
  readonly #dispatcher: Dispatcher;
  readonly #door: Door;
  readonly #routes: ExecutorRoutes;
  /** `undefined` if there are no framed connections. */
  readonly #frames: FrameUpgrades | undefined;
  readonly #more: MoreRoutes | undefined;
  readonly #backlog: number;
  readonly #drainMs: number;
  readonly #drainDelayMs: number;
  /** `undefined` without TLS. */
  readonly #tls: TlsConnections | undefined;
  readonly #mayServePlainHttp: boolean;
  /** Whether only this machine can reach it. */
  #isLocal = false;
  #address = "";
  #closed: Promise<void> | undefined;

  private constructor(
    { context, authentication, limits, tls, hasFrames }: ExecutorParts,
    { onRefusal, onRefusedHandshake, plainHttp = false }: Omit<ListeningOptions, "listen">,
    more: MoreRoutes | undefined,
  ) {
    this.#more = more;
    this.#mayServePlainHttp = plainHttp;
    this.#drainMs = limits.drainMs;
    this.#drainDelayMs = limits.drainDelayMs;
    this.#dispatcher = new Dispatcher(context, limits);
    const writeTools = (principal: Principal | undefined, listsAll: boolean): string => {
      const { registry, policy } = this.#dispatcher.context;
      const mayRun = (name: string): boolean => {
        const subject = registry.find(name)?.subject;
        return subject === undefined || (policy.mayAllow?.(subject, principal) ?? true);
      };
      return JSON.stringify({ tools: registry.definitions().filter(({ name }) => listsAll || mayRun(name)) });
    };
    const { metrics, processId } = this.#dispatcher;
    const reportRefusal = (refused: RefusedRequest): void => {
      metrics.refused(refused.code);
      try {
        onRefusal?.(refused);
      } catch {
        // The client must get its answer even if the listener throws.
      }
    };
    const reportHandshake = (refused: RefusedHandshake): void => {
      metrics.refusedHandshake();
      try {
        onRefusedHandshake?.(refused);
      } catch {
        // An error of the listener must not affect other clients.
      }
    };
    const bodies = new FairBudget(limits.bodyBytes * HELD_BODIES, limits.bodyBytes);
    const unread = openUnreadBudget();
    const door = new Door({
      authentication,
      requestMs: limits.requestMs,
      processId,
      isDraining: () => this.#dispatcher.isDraining,
      onRefusal: reportRefusal,
    });
    this.#door = door;
    const dispatcher = this.#dispatcher;
    this.#routes = new ExecutorRoutes({ dispatcher, door, limits, bodies, unread, writeTools, more });
    more?.register(door);
    const { server, connections } = openServer(limits, tls, {
      onRequest: (request, response) => door.handle(request, response),
      onRefusedConnection: () => metrics.connectionRefused(),
      onRefusedHandshake: reportHandshake,
      shouldUpgrade: (request) => hasFrames && FrameUpgrades.wanted(request, authentication.basePath),
    });
    this.#server = server;
    this.#tls = connections;
    door.tls = connections;
    // Every call that is accepted may come on a connection of its own, all at the same time.
    this.#backlog = Math.min(Math.max(limits.inFlight + limits.queued, MIN_BACKLOG), MAX_BACKLOG);
    // Without the callback, Node.js would pass every upgrade on, so there are no framed connections.
    if (!hasFrames || !("shouldUpgradeCallback" in this.#server)) return;
    const frames = new FrameUpgrades({ dispatcher, door, limits, bodies, unread, more });
    this.#frames = frames;
    this.#server.on("upgrade", (request, socket, head) => frames.handle(request, socket as Socket, head));
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
      basePath = "",
      keys,
      token,
      tokenName,
      tokens,
      certificates,
      limits,
      frames = false,
      tls,
    } = options;
    refuseUnknown(options, EXECUTOR_NAMES, "an executor");
    if (basePath !== "" && !isBasePath(basePath)) throw new TypeError(`basePath must be ${BASE_PATH_FORM}`);
    const own = {
      ...(keys && { keys }),
      ...(token !== undefined && { token }),
      ...(tokenName !== undefined && { tokenName }),
      ...(tokens && { tokens }),
      ...(certificates && { certificates }),
    };
    const checked = tls && checkTls(tls);
    const authentication = new Authentication(own, {
      hasOthers: more?.hasCredentials === true,
      authorities: checked?.authorities ?? "",
      basePath,
    });
    const context = guardRedactions(contextOf(options));
    checkMembers(context as Partial<DispatchContext>);
    const parts = {
      context,
      authentication,
      limits: completeLimits(limits),
      tls: checked,
      hasFrames: frames,
    };
    const executor = new Executor(parts, options, more);
    await executor.#listen(where, hosts, authentication);
    return executor;
  }

  async #listen(where: string, hosts: readonly string[], authentication: Authentication): Promise<void> {
    const { isRequired: isProtected } = authentication;
    const bound = await bind(this.#server, where, {
      hosts,
      backlog: this.#backlog,
      asksClients: this.#tls?.asksClients === true,
      refuseUnprotected: () => this.#refuseUnprotected(isProtected),
    });
    this.#address = bound.address;
    this.#isLocal = bound.isLocal;
    this.#door.hostCheck = bound.hostCheck;
    if (bound.isUnixSocket) authentication.assumeLocal();
  }

  #refuseUnprotected(hasCredentials: boolean): void {
    refuseUnprotected({ hasCredentials, isEncrypted: this.#tls !== undefined || this.#mayServePlainHttp });
  }

  /** The scheme of its URLs. */
  get scheme(): "http" | "https" {
    return this.#tls === undefined ? "http" : "https";
  }

  /** The address that the executor listens on: `127.0.0.1:7420`, `unix:/run/sandgate.sock` or `fd:3`. */
  get address(): string {
    return this.#address;
  }

  /**
   * Replaces tools, policy, credentials and certificates. Calls that have started continue under the old
   * ones. Signatures that were used are not accepted again.
   *
   * @param options.tls For new connections. If `clientCa` differs, open connections are closed after their
   *   current requests. Default: it stays.
   * @throws {ListenError} if clients from other machines could reach it without credentials; nothing is
   *   replaced then.
   * @throws {TypeError} if a credential or a certificate is invalid, or TLS or certificates of clients would
   *   begin or cease to be used; nothing is replaced then.
   */
  reload({
    registry,
    policy,
    tls,
    ...credentials
  }: Pick<ExecutorOptions, "registry" | "policy" | "tls"> & Credentials): void {
    const checked = tls && checkTls(tls);
    if (checked !== undefined && this.#tls === undefined)
      throw new TypeError("a reload cannot begin to use TLS: restart the server");
    if (checked !== undefined) this.#tls?.checkReplacement(checked);
    const authorities = checked?.authorities ?? this.#tls?.authorities ?? "";
    const before = this.#door.authentication;
    const authentication = new Authentication(credentials, { before, authorities });
    if (!this.#isLocal) this.#refuseUnprotected(authentication.isRequired);
    if (checked !== undefined) this.#tls?.replace(checked);
    this.#door.authentication = authentication;
    this.#dispatcher.context = { ...this.#dispatcher.context, registry, policy };
  }

  /**
   * After `limits.drainDelayMs`, stops accepting calls, waits until the accepted ones end, cancels the
   * remaining ones after `limits.drainMs`, and closes. All accepted calls have been answered when it
   * resolves. Idempotent.
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
    const connections = this.#frames?.connections;
    const cancel = setTimeout(() => this.#dispatcher.cancelAll(), this.#drainMs);
    const drained = this.#dispatcher.drain();
    connections?.goAway();
    await Promise.all([drained, this.#more?.drain()]);
    clearTimeout(cancel);
    // Clients that do not read their responses must not keep the process alive.
    const force = setTimeout(() => {
      connections?.destroy();
      this.#server.closeAllConnections();
      this.#tls?.destroyAll();
    }, this.#drainMs);
    do await Promise.race([delay(LINGER_MS, undefined, { ref: false }), closed]);
    while (hasConnections && (this.#door.open > 0 || connections?.areBusy === true));
    connections?.end();
    this.#server.close();
    await closed;
    this.#routes.process[Symbol.dispose]();
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
