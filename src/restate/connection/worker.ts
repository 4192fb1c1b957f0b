import { once } from "node:events";
import { createServer, type Http2Server, type ServerHttp2Session } from "node:http2";
import type { AddressInfo } from "node:net";
import type { ServiceDefinition, VirtualObjectDefinition } from "@restatedev/restate-sdk";

/** A service or a virtual object of the SDK. */
export type RestateService = ServiceDefinition<string, unknown> | VirtualObjectDefinition<string, unknown>;

/** The options of {@link openWorker}. */
export interface WorkerOptions {
  readonly services: readonly RestateService[];
  readonly host: string;
  /** 0 for any free one. */
  readonly port: number;
  /**
   * The public keys of the Restate cluster that may call, as it prints them when it starts: `publickeyv1_…`. Without them,
   * anything that reaches the port could run tools, so that `host` must be a loopback address.
   */
  readonly identityKeys?: readonly string[];
  /** Whether several processes of this machine listen on the port; the kernel spreads connections. Default: `false`. */
  readonly reusePort?: boolean;
}

/** Serves handlers to Restate. */
export interface RestateWorker extends AsyncDisposable {
  readonly port: number;
}

/**
 * Opens a port on which Restate calls handlers, over HTTP/2 without TLS.
 *
 * @throws {TypeError} as a rejection, if the host is no loopback address and there are no keys.
 */
export async function openWorker(options: WorkerOptions): Promise<RestateWorker> {
  const { services, host, port, identityKeys = [], reusePort = false } = options;
  if (identityKeys.length === 0 && !isLoopback(host)) {
    throw new TypeError(
      `a worker on ${host} needs the identity keys of Restate, since anything that reaches it could run tools`,
    );
  }
  const { createEndpointHandler } = await loadSdk();
  const handler = createEndpointHandler({
    services: [...services],
    ...(identityKeys.length > 0 && { identityKeys: [...identityKeys] }),
    // Restate itself stores and shows why an attempt failed.
    logger: () => {},
  });
  const server = createServer(handler);
  const sessions = new Set<ServerHttp2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
  });
  server.listen({ host, port, reusePort });
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: () => close(server, sessions),
  };
}

/** Attempts that are under way are tried again on another worker. */
async function close(server: Http2Server, sessions: ReadonlySet<ServerHttp2Session>): Promise<void> {
  const closed = once(server, "close");
  server.close();
  for (const session of sessions) session.destroy();
  await closed;
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}

/** What the SDK exports. */
export type RestateSdk = typeof import("@restatedev/restate-sdk");

/**
 * Loads `@restatedev/restate-sdk`, an optional peer.
 *
 * @throws {Error} as a rejection, if it is not installed.
 */
export async function loadSdk(): Promise<RestateSdk> {
  try {
    return await import("@restatedev/restate-sdk");
  } catch (cause) {
    throw new Error(
      "sandgate/restate needs @restatedev/restate-sdk: npm install @restatedev/restate-sdk@^1.17.0",
      {
        cause,
      },
    );
  }
}
