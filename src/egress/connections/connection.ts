import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";

/** A connection to a server, of which the bytes are counted. It can be opened again after it was closed. */
export class Connection {
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

  /** @param socket What HTTP is spoken over: the transport, or TLS over it. */
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
