import { connect, createServer, type Server, type Socket } from "node:net";

/**
 * What a proxy does with a connection on which a dispatch arrives: passes on everything; drops the request and resets the
 * connection; or passes on the request, and resets the connection when it has arrived, or when the response comes.
 */
export type Break = "nothing" | "request" | "underway" | "response";

/** A TCP proxy before an executor that breaks connections. */
export class BreakingProxy {
  /** What to do with the next dispatches, in their order; then nothing breaks. */
  readonly breaks: Break[] = [];
  /** The number of dispatches. */
  seen = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  /** @param target Returns the address of the executor for the next connection. */
  constructor(target: () => string) {
    this.#server = createServer((client) => {
      const { hostname, port } = new URL(target());
      const upstream = connect(Number(port), hostname);
      for (const socket of [client, upstream]) {
        this.#sockets.add(socket);
        socket.setNoDelay();
        socket.on("error", () => {});
        socket.on("close", () => {
          this.#sockets.delete(socket);
          client.destroy();
          upstream.destroy();
        });
      }
      let how: Break = "nothing";
      client.on("data", (chunk) => {
        if (chunk.includes("POST ")) {
          this.seen++;
          how = this.breaks.shift() ?? "nothing";
        }
        if (how === "request") client.resetAndDestroy();
        else upstream.write(chunk);
        // The executor has read the request by then.
        if (how === "underway") setTimeout(() => client.resetAndDestroy(), 100);
      });
      upstream.on("data", (chunk) => {
        if (how === "response") client.resetAndDestroy();
        else client.write(chunk);
      });
    });
  }

  /** Starts it, and returns its URL. */
  async start(): Promise<string> {
    await new Promise<void>((listening) => this.#server.listen(0, "127.0.0.1", listening));
    return `http://127.0.0.1:${(this.#server.address() as { readonly port: number }).port}`;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
