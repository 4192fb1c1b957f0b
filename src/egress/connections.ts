import type { LookupFunction, Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { buildConnector, Client, type Dispatcher, Pool } from "undici";
import { lookupFor, type ResolveHost } from "./checked-lookup.ts";
import { EgressError } from "./egress-error.ts";
import type { OriginRule } from "./net-rules.ts";

/** How many idle pools stay open. */
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

/** The certificate of a client, with its intermediate certificates, and its key, in PEM. */
export interface ClientCertificate {
  readonly cert: string;
  readonly key: string;
}

/** How connections are opened. */
interface ConnectionOptions {
  /** Milliseconds for name resolution and connecting, and again for the TLS handshake. */
  readonly connectTimeoutMs: number;
  /** The maximum size of a response's headers, in bytes. */
  readonly headerBytes: number;
  /** The certificate authorities to trust instead of the default ones, in PEM. */
  readonly ca?: string | undefined;
  /** Whether HTTP/2 may be spoken over TLS. Default: `true`. */
  readonly allowH2?: boolean;
  /** The certificate and the key of this process, in PEM, for servers that ask for one. */
  readonly clientCertificate?: ClientCertificate | undefined;
  /** The path of a unix socket to connect to instead of the origin's host. */
  readonly socketPath?: string | undefined;
}

/**
 * Opens a pool of connections to one origin, at the addresses that the lookup returns: HTTP/1.1, over TLS also HTTP/2,
 * never through a proxy. A connection has one request at a time, so that its bytes are those of the request. Requests
 * have no timeout here: callers must set one.
 */
export function openPool(
  origin: string,
  lookup: LookupFunction | undefined,
  options: ConnectionOptions,
): Pool {
  const { headerBytes: maxHeaderSize, allowH2 = true } = options;
  const connect = connectorOf(lookup, options);
  return new Pool(origin, {
    allowH2,
    pipelining: 1,
    h2Options: { maxConcurrentStreams: 1 },
    maxHeaderSize,
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveMaxTimeout: 60_000,
    connect,
    factory: (url, given) => new AwareClient(url, given as Client.Options, connect),
  });
}

/** Opens a connection. `onConnected` gets the TCP connection below it. */
type LayeredConnector = (
  target: buildConnector.Options,
  callback: buildConnector.Callback,
  onConnected?: (transport: Socket) => void,
) => void;

function connectorOf(
  lookup: LookupFunction | undefined,
  { connectTimeoutMs: timeout, ca, clientCertificate, socketPath, allowH2 = true }: ConnectionOptions,
): LayeredConnector {
  const connectTcp = buildConnector({
    timeout,
    ...(lookup && { lookup }),
    ...(socketPath !== undefined && { socketPath }),
  });
  // Explicit, since NODE_TLS_REJECT_UNAUTHORIZED would otherwise apply.
  const connectTls = buildConnector({
    timeout,
    allowH2,
    rejectUnauthorized: true,
    ...(ca !== undefined && { ca }),
    ...clientCertificate,
  });
  return (target, callback, onConnected) => {
    const isTls = target.protocol === "https:";
    const { servername: _, ...host } = target;
    const tcp = { ...host, protocol: "http:", port: target.port || (isTls ? "443" : "80") };
    connectTcp(tcp, (...result) => {
      const [error, transport] = result;
      if (error !== null) {
        callback(...result);
        return;
      }
      onConnected?.(transport);
      if (isTls) connectTls({ ...target, httpSocket: transport }, callback);
      else callback(...result);
    });
  };
}

/** A request handler that gets the connection of its request. */
export interface ConnectionAware {
  connection: Connection | undefined;
}

/** One connection. It sets the `connection` of its requests' handlers. */
class AwareClient extends Client {
  readonly #connection: Connection;

  constructor(origin: URL, options: Client.Options, connect: LayeredConnector) {
    const connection = new Connection();
    super(origin, {
      ...options,
      connect: (target, callback) => {
        const opened: buildConnector.Callback = (...result) => {
          if (result[0] === null) connection.opened(result[1]);
          callback(...result);
        };
        connect(target, opened, (transport) => connection.connected(transport));
      },
    });
    this.#connection = connection;
  }

  override dispatch(
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler & Partial<ConnectionAware>,
  ): boolean {
    handler.connection = this.#connection;
    return super.dispatch(options, handler);
  }
}

/** A connection to a server that counts its bytes. It can be opened again after it was closed. */
class Connection {
  /** The address that was connected to. */
  address = "";
  /** Called when bytes have arrived. With HTTP/2, it is not called for all of them. */
  onBytes: (() => void) | undefined;
  #transport: Socket | undefined;

  /** @param transport The TCP connection, or the unix socket. */
  connected(transport: Socket): void {
    this.#transport = transport;
    this.address = transport.remoteAddress ?? "";
  }

  /** @param socket The transport, or TLS over it. */
  opened(socket: Socket | TLSSocket): void {
    // HTTP/2 does not read through the socket's stream.
    if ("alpnProtocol" in socket && socket.alpnProtocol === "h2") return;
    socket.on("readable", () => this.onBytes?.());
  }

  /** Bytes received since the TCP connection was opened, with everything that TLS and HTTP add. */
  get bytesDown(): number {
    return this.#transport?.bytesRead ?? 0;
  }
}
