import {
  createServer as createHttpServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
} from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { Socket } from "node:net";
import type { ExecutorLimits } from "../load/limits.ts";
import type { CheckedTls } from "../tls/server-tls.ts";
import { type RefusedHandshake, TlsConnections } from "../tls/tls-connections.ts";

/** A server, and its connections if it uses TLS. */
interface OpenServer {
  readonly server: Server;
  readonly connections: TlsConnections | undefined;
}

/** What a server tells. */
interface ServerListeners {
  readonly onRequest: RequestListener;
  /** Whether a request is one for another protocol; any other is answered as if it did not ask for an upgrade. */
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
  limits: Pick<ExecutorLimits, "requestMs" | "connections" | "connectionsPerAddress">,
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
