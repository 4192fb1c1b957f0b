import type { LookupFunction } from "node:net";
import { buildConnector, Client, type Dispatcher, Pool } from "undici";

/** A handler that wants to know over which connection its request goes. */
export interface ConnectionAware {
  connection: { readonly address: string } | undefined;
}

/** How connections are opened. */
export interface ConnectionOptions {
  /** Milliseconds for finding the address, connecting and the TLS handshake. */
  readonly connectTimeoutMs: number;
  /** Bytes of a response's headers. */
  readonly headerBytes: number;
  /** Certificates of authorities to trust instead of the usual ones, in PEM. */
  readonly ca?: string | undefined;
}

/**
 * The connections to one origin, at the addresses that a lookup answers with: HTTP/1.1, over TLS also HTTP/2,
 * and never a proxy. Who dispatches bounds the time of a request.
 */
export function openPool(origin: string, lookup: LookupFunction, options: ConnectionOptions): Pool {
  const { connectTimeoutMs: timeout, headerBytes: maxHeaderSize, ca } = options;
  // Said here, so that no environment variable says otherwise.
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

/** One connection, which tells the handlers of its requests its address. */
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
