import { once } from "node:events";
import { lstatSync, unlinkSync } from "node:fs";
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
} from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";
import { guardFiles } from "../base/guarded-files.ts";
import {
  isLocal,
  LISTEN_FORM,
  type ListenAddress,
  ListenError,
  parseListenAddress,
  writeAuthority,
} from "./listen-address.ts";
import { HostCheck, loopbackNames } from "./request.ts";
import type { CheckedTls } from "./tls/server-tls.ts";
import { type RefusedHandshake, TlsConnections } from "./tls/tls-connections.ts";

/** Limits of an HTTP server. */
export interface HttpLimits {
  /** Maximum number of open connections. Default: 10,000. */
  readonly connections: number;
  /**
   * Maximum number of open connections from one address, or from one network of 64 bits of IPv6. Default: 5,000, which is
   * enough for one client, or a load balancer, to have all calls run and wait.
   */
  readonly connectionsPerAddress: number;
  /** Maximum bytes of a request's body. Default: 4 MiB. */
  readonly bodyBytes: number;
  /**
   * Milliseconds in which a request must arrive, and in which the client must read a complete response.
   * Default: 30,000.
   */
  readonly requestMs: number;
  /**
   * Milliseconds for which an executor that is being closed still accepts calls, while its readiness probe fails, so that
   * load balancers can find out. Default: 0.
   */
  readonly drainDelayMs: number;
  /** Milliseconds after which running calls are cancelled when the executor is closed. Default: 10,000. */
  readonly drainMs: number;
}

/** How a server is bound to an address. */
interface Binding {
  /** Further names under which clients can address the server. */
  readonly hosts: readonly string[];
  /** How many connections can wait to be accepted. */
  readonly backlog: number;
  /** Whether the server asks clients for certificates. */
  readonly asksClients: boolean;
  /** @throws {ListenError} if the server is not protected enough for clients from other machines. */
  readonly refuseUnprotected: () => void;
}

/** Where a server is bound. */
interface BoundServer {
  /** `127.0.0.1:7420`, `unix:/run/sandgate.sock` or `fd:3`. */
  readonly address: string;
  /** Whether only this machine can reach it. */
  readonly isLocal: boolean;
  readonly isUnixSocket: boolean;
  readonly hostCheck: HostCheck;
}

/** A server, and its connections if it uses TLS. */
interface OpenServer {
  readonly server: Server;
  readonly connections: TlsConnections | undefined;
}

/** Called with the requests and events of a server. */
interface ServerListeners {
  readonly onRequest: RequestListener;
  /**
   * Whether to upgrade the connection of a request. Other requests are answered as if they had no header
   * `upgrade`.
   */
  readonly shouldUpgrade: (request: IncomingMessage) => boolean;
  /** A connection was closed because there are too many. */
  readonly onRefusedConnection: () => void;
  /** Must not throw. */
  readonly onRefusedHandshake: (refused: RefusedHandshake) => void;
}

/**
 * Creates a server that does not listen yet: of HTTPS alone with TLS, and of HTTP without. It limits its
 * connections.
 */
export function openServer(
  limits: Pick<HttpLimits, "requestMs" | "connections" | "connectionsPerAddress">,
  tls: CheckedTls | undefined,
  { onRequest, shouldUpgrade, onRefusedConnection, onRefusedHandshake }: ServerListeners,
): OpenServer {
  const { requestMs } = limits;
  const headersTimeout = Math.min(10_000, requestMs);
  const options = {
    maxHeaderSize: 16_384,
    headersTimeout,
    requestTimeout: requestMs,
    connectionsCheckingInterval: Math.min(1_000, requestMs),
    keepAliveTimeout: 60_000,
    shouldUpgradeCallback: shouldUpgrade,
  };
  let server: Server;
  let connections: TlsConnections | undefined;
  if (tls === undefined) server = createHttpServer(options, onRequest);
  else {
    const requestCert = tls.clients !== undefined;
    // `TlsConnections` refuses clients, and says why. Node.js would only close their connections.
    const handshake = { handshakeTimeout: headersTimeout, requestCert, rejectUnauthorized: false };
    const secure = createHttpsServer({ ...options, ...tls.context, ...handshake }, onRequest);
    connections = new TlsConnections(secure, tls, onRefusedHandshake);
    server = secure;
  }
  // No header may be dropped, in particular not `origin`. Their total size is bounded instead of their number.
  server.maxHeadersCount = 0;
  server.maxConnections = limits.connections;
  server.on("drop", onRefusedConnection);
  limitConnectionsPerAddress(server, limits.connectionsPerAddress, onRefusedConnection);
  return { server, connections };
}

/**
 * Limits the connections of a server that one address has open at a time: an IPv4 address, or a network of 64 bits of IPv6,
 * of which a client usually has all addresses. Connections over unix sockets have no address, and are not limited.
 *
 * The other listeners of the server's connections must have been added: they do not see a connection that is refused.
 *
 * @param max Further connections are closed at once.
 * @param onRefused Called for each of these.
 */
function limitConnectionsPerAddress(server: Server, max: number, onRefused: () => void): void {
  const open = new Map<string, number>();
  const admit = (socket: Socket): boolean => {
    const { remoteAddress } = socket;
    if (remoteAddress === undefined) return true;
    const origin = originOf(remoteAddress);
    const count = open.get(origin) ?? 0;
    if (count >= max) return false;
    open.set(origin, count + 1);
    socket.once("close", () => {
      const left = (open.get(origin) ?? 1) - 1;
      if (left > 0) open.set(origin, left);
      else open.delete(origin);
    });
    return true;
  };
  // TLS would begin a handshake on a closed connection, and report that it failed.
  const listeners = server.listeners("connection");
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => {
    if (admit(socket)) {
      for (const listener of listeners) listener.call(server, socket);
      return;
    }
    onRefused();
    socket.destroy();
  });
}

/** Returns what counts as one address: `192.0.2.1`, or `2001:db8:0:1`, the first half of an IPv6 address. */
export function originOf(address: string): string {
  const mapped = /^::ffff:([0-9.]+)$/i.exec(address)?.[1];
  if (mapped !== undefined || !address.includes(":")) return mapped ?? address;
  const [head = "", tail] = (address.split("%", 1)[0] ?? "").split("::");
  const groups = head === "" ? [] : head.split(":");
  const rest = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : Math.max(8 - groups.length - rest.length, 0);
  return [...groups, ...Array<string>(zeros).fill("0"), ...rest].slice(0, 4).join(":");
}

/**
 * Makes a server listen, and says under which names clients reach it.
 *
 * @throws {ListenError} if it cannot listen, or must not.
 */
export async function bind(
  server: Server,
  where: string,
  { hosts, backlog, asksClients, refuseUnprotected }: Binding,
): Promise<BoundServer> {
  const address = parseListenAddress(where);
  if (address === undefined) throw new ListenError(`listen must be ${LISTEN_FORM}`);
  if (!isLocal(address)) refuseUnprotected();
  await listen(server, address, backlog);
  // A string is the path of a unix socket, which a descriptor can also refer to.
  const bound = server.address() as AddressInfo | string | null;
  if (typeof bound !== "object" || bound === null) {
    if (asksClients) {
      server.close();
      throw new ListenError(
        "tls.clientCa cannot be used on a unix socket, which only this user can connect to",
      );
    }
    // Every program that connects to it may call: one whose directory has it would choose its own calls.
    if (typeof bound === "string") guardFiles([{ path: bound }]);
    return { address: where, isLocal: true, isUnixSocket: true, hostCheck: new HostCheck(undefined) };
  }
  const { address: host, port } = bound;
  const isOnlyLocal = isLocal({ kind: "tcp", host, port });
  if (!isOnlyLocal) {
    try {
      refuseUnprotected();
    } catch (error) {
      server.close();
      throw error;
    }
  }
  const authority = writeAuthority(host, port);
  const own = address.kind === "tcp" ? [writeAuthority(address.host, port)] : [];
  const names = [...hosts, ...own, authority, ...loopbackNames(port)];
  const hostCheck = new HostCheck(names.map((name) => name.toLowerCase()));
  return { address: authority, isLocal: isOnlyLocal, isUnixSocket: false, hostCheck };
}

/**
 * Makes a server listen on an address. A unix socket is created with mode 0600, and replaces a stale socket.
 *
 * @param backlog How many connections can wait to be accepted.
 * @throws {ListenError} if the server cannot listen.
 */
async function listen(server: Server, address: ListenAddress, backlog: number): Promise<void> {
  try {
    if (address.kind === "unix") {
      await removeStaleSocket(address.path);
      await listenPrivately(server, address.path, backlog);
      return;
    }
    const target = address.kind === "fd" ? { fd: address.fd } : { host: address.host, port: address.port };
    const listening = once(server, "listening");
    server.listen({ ...target, exclusive: true, backlog });
    await listening;
  } catch (error) {
    if (error instanceof ListenError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    throw new ListenError(code === "EADDRINUSE" ? "the address is in use" : message, { cause: error });
  }
}

/**
 * Creates the socket with its final mode. If the mode were set afterwards, other users could connect before.
 */
async function listenPrivately(server: Server, path: string, backlog: number): Promise<void> {
  const listening = once(server, "listening");
  const before = process.umask(0o177);
  try {
    // The socket is created before this returns.
    server.listen({ path, backlog });
  } finally {
    process.umask(before);
  }
  await listening;
}

async function removeStaleSocket(path: string): Promise<void> {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return;
  if (!stats.isSocket()) throw new ListenError("the path exists and is not a socket");
  const socket = connect(path);
  try {
    await once(socket, "connect");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ECONNREFUSED") throw error;
    unlinkSync(path);
    return;
  } finally {
    socket.destroy();
  }
  throw new ListenError("the address is in use");
}
