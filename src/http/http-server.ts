import type { Server } from "node:http";
import { Server as NetServer, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { HEALTH_PATH, METRICS_PATH, READY_PATH } from "../remote-protocol/http.ts";
import { ACCESS } from "./access.ts";
import { Authentication, type Credentials } from "./authentication.ts";
import type { Credential } from "./clients.ts";
import { Door, type DoorOptions, type RouteGroup, requireMethod, type Upgrades } from "./door.ts";
import { BASE_PATH_FORM, isBasePath, refuseUnprotected } from "./listen-address.ts";
import { HttpMetrics, type Metric, withoutOthers, writeMetrics } from "./metrics.ts";
import { bind, type HttpLimits, openServer } from "./open-server.ts";
import { ProcessMetrics } from "./process-metrics.ts";
import type { RefusedRequest } from "./refusals.ts";
import type { Incoming } from "./request.ts";
import { limitUnread, respond, UnreadAnswers } from "./respond.ts";
import { checkTls, type ServerTls } from "./tls/server-tls.ts";
import type { RefusedHandshake, TlsConnections } from "./tls/tls-connections.ts";

/** How a server listens. */
export interface ListeningOptions {
  /** The address to listen on: `HOST:PORT` (port 0 for any free port), `unix:PATH` or `fd:NUMBER`. */
  readonly listen: string;
  /**
   * Further values of the `host` header to accept, for example the name of a load balancer, with the port
   * unless it is 80 or 443. The address itself and the names of loopback are always accepted. Default: none.
   */
  readonly hosts?: readonly string[];
  /**
   * The path below which clients reach the executor through a proxy: `/tools`, if its URL is `https://HOST/tools`. Requests
   * are accepted with it and, from a proxy that removes it, without. Signatures must cover it. Default: none.
   */
  readonly basePath?: string;
  /** Serves HTTPS alone. Default: HTTP. */
  readonly tls?: ServerTls;
  /**
   * Whether it may serve HTTP without TLS beyond this machine, because a proxy or the network encrypts. Default: `false`.
   */
  readonly plainHttp?: boolean;
  /**
   * Called for each request that is answered with a problem, for the operator's log. What it throws is ignored. Invalid
   * HTTP, which Node.js answers itself, does not get here. Default: not called.
   */
  readonly onRefusal?: (refused: RefusedRequest) => void;
  /**
   * Called for each connection whose TLS handshake fails, for the operator's log. What it throws is ignored. Default: not
   * called.
   */
  readonly onRefusedHandshake?: (refused: RefusedHandshake) => void;
}

/** Options of {@link HttpServer}. */
export interface HttpServerOptions
  extends ListeningOptions,
    Pick<DoorOptions, "clients" | "origins" | "logins" | "accessTokens"> {
  readonly credentials: Credentials;
  /** Whether a route has credentials of its own, so that a request without any is never accepted. */
  readonly hasOtherCredentials: boolean;
  readonly limits: HttpLimits;
  /** The most connections that clients may open at the same moment. */
  readonly backlog: number;
  /** Identifies this process in answers. */
  readonly processId: string;
}

/** Milliseconds that idle connections stay open after the last response, since a request may be in transit. */
const LINGER_MS = 200;
/** The fewest connections that wait to be accepted. The kernel may allow fewer (`net.core.somaxconn` on Linux). */
const MIN_BACKLOG = 1_024;
const MAX_BACKLOG = 65_535;

const PLAIN_TEXT = { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" };
const PROMETHEUS_TEXT = { "content-type": "text/plain; version=0.0.4; charset=utf-8" };

/**
 * Listens, ends TLS, and has a {@link Door} receive each request. Its parts have the routes. Those of probes and metrics are its
 * own, since they are about all parts.
 */
export class HttpServer implements AsyncDisposable {
  readonly #door: Door;
  readonly #groups: readonly RouteGroup[];
  readonly #server: Server;
  /** `undefined` without TLS. */
  readonly #tls: TlsConnections | undefined;
  readonly #options: HttpServerOptions;
  readonly #metrics: HttpMetrics;
  readonly #process: ProcessMetrics = new ProcessMetrics();
  /** Whether load balancers may send requests. */
  #isReady = true;
  /** Whether only this machine can reach it. */
  #isLocal = false;
  #address = "";
  #closed: Promise<void> | undefined;

  private constructor(options: HttpServerOptions, groups: readonly RouteGroup[]) {
    const { credentials, hasOtherCredentials: hasOthers, basePath = "", limits, processId, tls } = options;
    if (basePath !== "" && !isBasePath(basePath)) throw new TypeError(`basePath must be ${BASE_PATH_FORM}`);
    const checked = tls && checkTls(tls);
    const authorities = checked?.authorities ?? "";
    const metrics = new HttpMetrics();
    const { clients, origins, logins, accessTokens } = options;
    const door = new Door({
      clients,
      origins,
      logins,
      accessTokens,
      authentication: new Authentication(credentials, { hasOthers, authorities, basePath }),
      requestMs: limits.requestMs,
      bodyBytes: limits.bodyBytes,
      processId,
      onRefusal: (refused) => {
        metrics.refused(refused.code);
        notify(options.onRefusal, refused);
      },
    });
    this.#options = options;
    this.#groups = groups;
    this.#metrics = metrics;
    this.#door = door;
    this.#addRoutes();
    for (const group of groups) group.register(door);
    const { server, connections } = openServer(limits, checked, {
      onRequest: door.handle.bind(door),
      onRefusedConnection: () => metrics.connectionRefused(),
      onRefusedHandshake: (refused) => {
        metrics.refusedHandshake();
        notify(options.onRefusedHandshake, refused);
      },
      shouldUpgrade: (request) =>
        this.#upgrades.some((upgrades) => upgrades.wanted(request, door.authentication.basePath)),
    });
    this.#server = server;
    this.#tls = connections;
    door.tls = connections;
    // Without the callback, Node.js would pass every upgrade on, so there are none.
    if (this.#upgrades.length === 0 || !("shouldUpgradeCallback" in server)) return;
    server.on("upgrade", (request, socket, head) => {
      const wanted = this.#upgrades.find((upgrades) =>
        upgrades.wanted(request, door.authentication.basePath),
      );
      if (wanted === undefined) socket.destroy();
      else wanted.handle(request, socket as Socket, head);
    });
  }

  /**
   * Starts a server.
   *
   * @param groups Its parts, which are drained when it closes.
   * @throws {ListenError} if it cannot listen, or if clients from other machines could reach it without credentials.
   * @throws {TypeError} if an option is invalid.
   */
  static async start(options: HttpServerOptions, groups: readonly RouteGroup[]): Promise<HttpServer> {
    const server = new HttpServer(options, groups);
    try {
      await server.#listen();
    } catch (error) {
      server.#process[Symbol.dispose]();
      throw error;
    }
    return server;
  }

  async #listen(): Promise<void> {
    const { listen, hosts = [], backlog } = this.#options;
    const { authentication } = this.#door;
    const bound = await bind(this.#server, listen, {
      hosts,
      backlog: Math.min(Math.max(backlog, MIN_BACKLOG), MAX_BACKLOG),
      asksClients: this.#tls?.asksClients === true,
      refuseUnprotected: () => this.#refuseUnprotected(authentication.isRequired),
    });
    this.#address = bound.address;
    this.#isLocal = bound.isLocal;
    this.#door.hostCheck = bound.hostCheck;
    if (bound.isUnixSocket) authentication.assumeLocal();
  }

  #refuseUnprotected(hasCredentials: boolean): void {
    const { plainHttp = false } = this.#options;
    refuseUnprotected({ hasCredentials, isEncrypted: this.#tls !== undefined || plainHttp });
  }

  get #upgrades(): readonly Upgrades[] {
    return this.#groups.flatMap(({ upgrades }) => upgrades ?? []);
  }

  /** The scheme of its URLs. */
  get scheme(): "http" | "https" {
    return this.#tls === undefined ? "http" : "https";
  }

  /** The address that it listens on: `127.0.0.1:7420`, `unix:/run/sandgate.sock` or `fd:3`. */
  get address(): string {
    return this.#address;
  }

  /**
   * Replaces credentials, roles and certificates. Signatures that were used are not accepted again.
   *
   * @param options.holders The credentials with roles. Default: none.
   * @param options.tls For new connections. If `clientCa` differs, open connections are closed after their current requests. Default: it
   *   stays.
   * @throws {ListenError} if clients from other machines could reach it without credentials; nothing is replaced then.
   * @throws {TypeError} if a credential or a certificate is invalid, or TLS or certificates of clients would begin or cease to
   *   be used; nothing is replaced then.
   */
  reload(
    credentials: Credentials,
    { tls, holders = [] }: { readonly tls?: ServerTls | undefined; readonly holders?: readonly Credential[] },
  ): void {
    const checked = tls && checkTls(tls);
    if (checked !== undefined && this.#tls === undefined)
      throw new TypeError("a reload cannot begin to use TLS: restart the server");
    if (checked !== undefined) this.#tls?.checkReplacement(checked);
    const authorities = checked?.authorities ?? this.#tls?.authorities ?? "";
    const authentication = new Authentication(credentials, {
      before: this.#door.authentication,
      authorities,
    });
    if (!this.#isLocal) this.#refuseUnprotected(authentication.isRequired);
    if (checked !== undefined) this.#tls?.replace(checked);
    this.#door.replace(authentication, holders);
  }

  #addRoutes(): void {
    const door = this.#door;
    // Health probes know neither the names of the server nor its credentials.
    door.addExact(HEALTH_PATH, (incoming) => answerStatus(incoming, undefined));
    door.addExact(READY_PATH, (incoming) => answerStatus(incoming, this.#unreadiness));
    door.addExact(METRICS_PATH, (incoming) => {
      this.#answerMetrics(incoming).catch((thrown) => door.fail(incoming, thrown));
    });
  }

  get #unreadiness(): string | undefined {
    if (!this.#isReady) return "draining";
    return this.#groups.map(({ unreadiness }) => unreadiness).find((problem) => problem !== undefined);
  }

  async #answerMetrics({ request, response }: Incoming): Promise<void> {
    const door = this.#door;
    const sender = await door.senderOf(request, request.method === "HEAD" ? "HEAD" : "GET");
    door.admit(ACCESS.metrics, sender);
    limitUnread(response, new UnreadAnswers(door.unread, sender.caller));
    // Without roles, everyone who reads the metrics is a caller.
    const all = this.#readMetrics();
    const shown = door.clients === undefined ? withoutOthers(all, sender.principal?.id) : all;
    respond(response, 200, PROMETHEUS_TEXT, writeMetrics(shown));
  }

  #readMetrics(): readonly Metric[] {
    const ofGroups = this.#groups.map((group) => group.readMetrics());
    return [this.#metrics.read(), ...ofGroups, this.#process.read()].flat();
  }

  /**
   * After `limits.drainDelayMs`, stops accepting connections, has its parts drain, which cancel what takes longer than
   * `limits.drainMs`, and closes. All accepted requests have been answered when it resolves. Idempotent.
   */
  close(): Promise<void> {
    this.#closed ??= this.#drain();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #drain(): Promise<void> {
    const { drainDelayMs, drainMs } = this.#options.limits;
    this.#isReady = false;
    if (drainDelayMs > 0) await delay(drainDelayMs);
    let hasConnections = true;
    // Unlike the HTTP server's `close`, this keeps idle connections open, so requests on them get a response.
    const closed = new Promise<void>((resolve) => {
      NetServer.prototype.close.call(this.#server, () => {
        hasConnections = false;
        resolve();
      });
    });
    this.#door.isDraining = true;
    await Promise.all(this.#groups.map((group) => group.drain(drainMs)));
    const upgrades = this.#upgrades;
    // Clients that do not read their responses must not keep the process alive.
    const force = setTimeout(() => {
      for (const taken of upgrades) taken.destroy();
      this.#server.closeAllConnections();
      this.#tls?.destroyAll();
    }, drainMs);
    do await Promise.race([delay(LINGER_MS, undefined, { ref: false }), closed]);
    while (hasConnections && (this.#door.open > 0 || upgrades.some(({ areBusy }) => areBusy)));
    for (const taken of upgrades) taken.end();
    this.#server.close();
    await closed;
    this.#process[Symbol.dispose]();
    clearTimeout(force);
  }
}

/** Calls a listener of the embedder, if there is one: what it throws must not affect clients. */
function notify<Event>(listener: ((event: Event) => void) | undefined, event: Event): void {
  try {
    listener?.(event);
  } catch {
    // The client must get its answer even if the listener throws.
  }
}

/** @param problem `undefined` if all is well. */
function answerStatus({ request, response }: Incoming, problem: string | undefined): void {
  // Probes may ask for the head only. Node does not send a body in response to `HEAD`.
  if (request.method !== "HEAD") requireMethod(request, "GET");
  respond(response, problem === undefined ? 200 : 503, PLAIN_TEXT, `${problem ?? "ok"}\n`);
}
