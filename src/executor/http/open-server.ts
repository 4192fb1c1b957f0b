import {
  createServer as createHttpServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
} from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { ExecutorLimits } from "../load/limits.ts";
import type { CheckedTls } from "../tls/server-tls.ts";
import { type RefusedHandshake, TlsConnections } from "../tls/tls-connections.ts";
import { limitConnectionsPerAddress } from "./connection-limit.ts";

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
