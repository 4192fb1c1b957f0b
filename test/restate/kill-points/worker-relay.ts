import { once } from "node:events";
import {
  type ClientHttp2Session,
  connect,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";
import { nameOf } from "./step-names.ts";
import type { Steps } from "./steps.ts";

/** The server that Restate reaches. */
export interface Target {
  /** The port of its worker. */
  readonly workerPort: number;
  /** Those that are taken now, if they are counted. */
  readonly steps: Steps | undefined;
}

/**
 * Stands between Restate and the workers of the servers, of which it reaches one at a time. Each message of the protocol,
 * in either direction, is a step: `HANDLER <` to the server, `HANDLER >` from it.
 */
export class WorkerRelay {
  readonly #server = createServer();
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #workers = new Map<number, ClientHttp2Session>();
  readonly #delayMs: number;
  #target: Target | undefined;

  /** @param options.delayMs How long each message of a server is on its way to Restate. Default: 0. */
  constructor({ delayMs = 0 }: { readonly delayMs?: number } = {}) {
    this.#delayMs = delayMs;
    this.#server.on("session", (session) => {
      this.#sessions.add(session);
      session.on("error", () => {});
      session.once("close", () => this.#sessions.delete(session));
    });
    this.#server.on("stream", (stream: ServerHttp2Stream, headers) => this.#relay(stream, headers));
  }

  /** Begins to listen. Returns its URL. */
  async listen(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Has Restate reach another server. All connections to the one before break. */
  use(target: Target): void {
    this.#target = target;
    for (const session of this.#sessions) session.destroy();
    for (const worker of this.#workers.values()) worker.destroy();
    this.#workers.clear();
  }

  close(): void {
    this.#target = undefined;
    for (const session of this.#sessions) session.destroy();
    for (const worker of this.#workers.values()) worker.destroy();
    this.#server.close();
  }

  #relay(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    const target = this.#target;
    stream.on("error", () => {});
    if (target === undefined) {
      stream.destroy();
      return;
    }
    const name = nameOf(headers[":path"] as string);
    const take = (direction: "<" | ">"): boolean =>
      name === undefined || (target.steps?.take(`${name} ${direction}`) ?? true);
    const worker = this.#workerOf(target).request(headers, { endStream: false });
    worker.on("error", () => {});
    // Nothing that is on its way arrives any more.
    worker.on("aborted", () => stream.destroy());
    worker.on("close", () => {
      if (!worker.readableEnded) stream.destroy();
    });
    worker.on("response", (answer) => {
      if (!stream.destroyed) stream.respond(answer);
    });
    stream.on("data", (chunk: Buffer) => {
      if (take("<")) worker.write(chunk);
    });
    stream.on("end", () => worker.end());
    stream.on("close", () => worker.destroy());
    worker.on("data", (chunk: Buffer) => {
      if (take(">")) this.#later(stream, () => stream.write(chunk));
    });
    worker.on("end", () => this.#later(stream, () => stream.end()));
  }

  #later(stream: ServerHttp2Stream, send: () => void): void {
    if (this.#delayMs === 0) send();
    else
      setTimeout(() => {
        if (!stream.destroyed) send();
      }, this.#delayMs);
  }

  #workerOf({ workerPort }: Target): ClientHttp2Session {
    const known = this.#workers.get(workerPort);
    if (known !== undefined && !known.destroyed && !known.closed) return known;
    const worker = connect(`http://127.0.0.1:${workerPort}`);
    worker.on("error", () => {});
    this.#workers.set(workerPort, worker);
    return worker;
  }
}
