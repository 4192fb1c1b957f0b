import type { Server } from "node:https";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { CheckedTls } from "./server-tls.ts";

/** A connection that was closed because its TLS handshake failed. */
export interface RefusedHandshake {
  /** A code of OpenSSL or Node.js, such as `CERT_HAS_EXPIRED`, or `NO_CLIENT_CERTIFICATE`. */
  readonly code: string;
  readonly message: string;
  /** The client's address; absent on a unix socket, and if the client has gone. */
  readonly address?: string;
}

/** The connections of a TLS server: refuses those without a valid certificate if there must be one. */
export class TlsConnections {
  readonly #server: Server;
  readonly #onRefused: (refused: RefusedHandshake) => void;
  /** Those below TLS, also before the handshake. */
  readonly #transports = new Set<Socket>();
  /** With which authorities the handshakes began, by the clients' ports. */
  readonly #begun = new Map<string, { readonly authorities: string }>();
  readonly #open = new Set<TLSSocket>();
  readonly #retired = new WeakSet<Socket>();
  #tls: CheckedTls;

  /** @param onRefused Must not throw. */
  constructor(server: Server, tls: CheckedTls, onRefused: (refused: RefusedHandshake) => void) {
    this.#server = server;
    this.#tls = tls;
    this.#onRefused = onRefused;
    // Before the TLS server's own listener, which begins the handshake.
    server.prependListener("connection", (socket: Socket) => this.#begin(socket));
    server.on("tlsClientError", (error: NodeJS.ErrnoException, socket) => {
      this.#report(error.code ?? "TLS_ERROR", error.message, socket);
    });
    // Before the HTTP server's own listener, which would begin to read requests.
    server.prependListener("secureConnection", (socket) => this.#admit(socket));
  }

  /** Whether clients are asked for certificates. */
  get asksClients(): boolean {
    return this.#tls.clients !== undefined;
  }

  /** The digest of the authorities of clients' certificates. */
  get authorities(): string {
    return this.#tls.authorities;
  }

  /** Whether a connection was opened with a certificate of authorities that have been replaced. */
  isRetired(socket: Socket): boolean {
    return this.#retired.has(socket);
  }

  /**
   * Throws if {@link replace} would.
   *
   * @throws {TypeError} if clients would have to be asked for certificates, and are not now, or the other way round.
   */
  checkReplacement({ clients }: CheckedTls): void {
    if (clients !== this.#tls.clients)
      throw new TypeError("a reload cannot change which clients need certificates: restart the server");
  }

  /**
   * Uses other certificates for new connections. Open connections stay open, unless the authorities of
   * clients' certificates change: those are closed after their current requests.
   */
  replace(tls: CheckedTls): void {
    this.checkReplacement(tls);
    // It also makes new keys for session tickets, so that no client resumes a session of before.
    this.#server.setSecureContext(tls.context);
    const isOther = tls.authorities !== this.#tls.authorities;
    this.#tls = tls;
    if (!isOther) return;
    for (const socket of this.#open) this.#retired.add(socket);
    this.#server.closeIdleConnections();
  }

  /** Closes all connections, including those whose handshakes have not ended. */
  destroyAll(): void {
    for (const socket of this.#transports) socket.destroy();
  }

  #begin(socket: Socket): void {
    const [port, begun] = [portOf(socket), { authorities: this.authorities }];
    this.#transports.add(socket);
    this.#begun.set(port, begun);
    socket.once("close", () => {
      this.#transports.delete(socket);
      // Another connection may have the port already.
      if (this.#begun.get(port) === begun) this.#begun.delete(port);
    });
  }

  #admit(socket: TLSSocket): void {
    const refusal = this.#refusalOf(socket);
    if (refusal === undefined) {
      this.#open.add(socket);
      socket.once("close", () => this.#open.delete(socket));
      return;
    }
    this.#report(...refusal, socket);
    socket.destroy();
  }

  #refusalOf(socket: TLSSocket): [code: string, message: string] | undefined {
    const { clients } = this.#tls;
    if (clients === undefined) return undefined;
    // The certificate was verified with those with which the handshake began.
    if (this.#begun.get(portOf(socket))?.authorities !== this.authorities)
      return ["AUTHORITIES_REPLACED", "the authorities of clients' certificates were replaced meanwhile"];
    if (socket.authorized) return undefined;
    if (socket.getPeerX509Certificate() === undefined)
      return clients === "optional"
        ? undefined
        : ["NO_CLIENT_CERTIFICATE", "the client must have a certificate"];
    const code = String(socket.authorizationError);
    return [code, "the client's certificate cannot be verified"];
  }

  #report(code: string, message: string, socket: TLSSocket): void {
    const { remoteAddress: address } = socket;
    this.#onRefused(Object.freeze({ code, message, ...(address !== undefined && { address }) }));
  }
}

/** Only a TCP connection has a port of its client. */
function portOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
