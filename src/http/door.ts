import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Hono } from "hono";
import { EXECUTOR_HEADER, writeProcessStamp } from "../remote-protocol/http.ts";
import { type RequestRefusal, remoteProblem } from "../remote-protocol/problems.ts";
import type { DispatchRequest } from "../remote-protocol/shapes.ts";
import type { Authentication } from "./authentication.ts";
import { type RefusedRequest, refusalOf, refuse, refusedRequest } from "./refusals.ts";
import { HostCheck, type Incoming, refuseRepeated, stripBasePath } from "./request.ts";
import { limitReadingTime } from "./respond.ts";
import type { TlsConnections } from "./tls/tls-connections.ts";

/** The routes of a server. A handler throws a {@link RequestRefusal} to refuse a request. */
export type Routes = Hono<{ Bindings: Incoming }>;

/** Returned by handlers that write the response themselves, now or later. */
export const ANSWERED: Response = new Response(null);

/** Options of {@link Door}. */
export interface DoorOptions {
  readonly authentication: Authentication;
  /** Milliseconds in which a client must read a complete response. */
  readonly requestMs: number;
  /** Identifies this process in answers. */
  readonly processId: string;
  /** Whether the server is shutting down, so that each connection is closed after its response. */
  readonly isDraining: () => boolean;
  /** Receives each request that is refused. Must not throw. */
  readonly onRefusal: (refused: RefusedRequest) => void;
}

/**
 * Receives every request of a server, passes it to the route for its method and path, and refuses it if that
 * throws.
 */
export class Door {
  /** Refuses all requests until the address of the server is known. */
  hostCheck: HostCheck = new HostCheck([]);
  authentication: Authentication;
  /** The connections of a server with TLS. */
  tls: TlsConnections | undefined;
  /** They are matched with the path as it was sent. Parameters are decoded. */
  readonly routes: Routes = new Hono({ getPath: ({ url }) => url.split("?", 1)[0] ?? "" });
  readonly #options: DoorOptions;
  #open = 0;
  /** The number of open responses on each connection. */
  readonly #openOn = new WeakMap<Socket, number>();

  constructor(options: DoorOptions) {
    this.#options = options;
    this.authentication = options.authentication;
    this.routes.notFound(({ env }) => this.refuseUnknown(env));
    this.routes.onError((error) => {
      throw error;
    });
  }

  /** The number of requests whose responses have not been sent completely. */
  get open(): number {
    return this.#open;
  }

  /** Whether a response on a connection has not been sent completely. */
  isAnsweringOn(socket: Socket): boolean {
    return (this.#openOn.get(socket) ?? 0) > 0;
  }

  /** @throws {RequestRefusal} `unauthenticated` if the authorities that verified the client's certificate were replaced. */
  refuseRetired(socket: Socket): void {
    if (this.tls?.isRetired(socket))
      throw remoteProblem("unauthenticated", "the authorities of certificates were replaced: connect again");
  }

  /** Refuses a request whose path leads to nothing. */
  refuseUnknown({ request }: Pick<Incoming, "request">): never {
    this.hostCheck.check(request.headers);
    throw remoteProblem("not_found", "the path does not exist");
  }

  /** Responds to a request, now or later. Never throws. */
  handle(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    this.#open++;
    this.#openOn.set(socket, (this.#openOn.get(socket) ?? 0) + 1);
    response.on("close", () => {
      this.#open--;
      this.#openOn.set(socket, (this.#openOn.get(socket) ?? 0) - 1);
    });
    limitReadingTime(response, this.#options.requestMs);
    // A broken connection is handled in `close`.
    response.on("error", ignore);
    const { processId, isDraining } = this.#options;
    try {
      response.setHeader(EXECUTOR_HEADER, writeProcessStamp(processId, performance.now()));
      if (isDraining() || this.tls?.isRetired(socket)) response.setHeader("connection", "close");
      this.refuseRetired(socket);
      refuseRepeated(request);
      stripBasePath(request, this.authentication.basePath);
      // Of a request, Hono reads the method and the target only.
      const answered = this.routes.fetch(request as unknown as Request, { request, response });
      if (answered instanceof Promise)
        answered.catch((thrown: unknown) => this.fail({ request, response }, thrown));
    } catch (thrown) {
      this.fail({ request, response }, thrown);
    }
  }

  /**
   * Refuses a request. If its response has begun, the connection is closed.
   *
   * @param body Its body, if it was read.
   */
  fail({ request, response }: Incoming, thrown: unknown, body?: DispatchRequest): void {
    const refusal = this.report(request, thrown, body);
    if (response.headersSent) response.destroy();
    else refuse(request, response, refusal);
  }

  /** Reports a refusal to the operator, and returns it. */
  report(request: IncomingMessage, thrown: unknown, body?: DispatchRequest): RequestRefusal {
    const refusal = refusalOf(thrown);
    this.#options.onRefusal(refusedRequest(request, refusal, body));
    return refusal;
  }
}

function ignore(): void {}
