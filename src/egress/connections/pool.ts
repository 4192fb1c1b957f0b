import type { LookupFunction } from "node:net";
import { buildConnector, Client, type Dispatcher, Pool } from "undici";

/** A request handler that learns which connection its request uses. */
export interface ConnectionAware {
  connection: { readonly address: string } | undefined;
}

/** How connections are opened. */
export interface ConnectionOptions {
  /** Milliseconds for name resolution, connecting and the TLS handshake. */
  readonly connectTimeoutMs: number;
  /** The maximum size of a response's headers, in bytes. */
  readonly headerBytes: number;
  /** The certificate authorities to trust instead of the default ones, in PEM. */
  readonly ca?: string | undefined;
}

/**
 * Opens a pool of connections to one origin, at the addresses that the lookup returns: HTTP/1.1, over TLS also HTTP/2,
 * never through a proxy. Requests have no timeout here: callers must set one.
 */
export function openPool(origin: string, lookup: LookupFunction, options: ConnectionOptions): Pool {
  const { connectTimeoutMs: timeout, headerBytes: maxHeaderSize, ca } = options;
  // Explicit, since NODE_TLS_REJECT_UNAUTHORIZED would otherwise apply.
  const tls = { allowH2: true, rejectUnauthorized: true, ...(ca !== undefined && { ca }) };
  const connector = buildConnector({ lookup, timeout, ...tls });
  return new Pool(origin, {
    allowH2: true,
    pipelining: 1,
    maxHeaderSize,
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveMaxTimeout: 60_000,
    connect: connector,
    factory: (url, given) => new AddressedClient(url, given as Client.Options, connector),
  });
}

/** One connection. It sets the `connection` of its requests' handlers, which holds its address. */
class AddressedClient extends Client {
  readonly #connection: { address: string };

  constructor(origin: URL, options: Client.Options, connector: buildConnector.connector) {
    const connection = { address: "" };
    super(origin, {
      ...options,
      connect: (target, callback) => {
        connector(target, (...result) => {
          connection.address = result[1]?.remoteAddress ?? "";
          callback(...result);
        });
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
