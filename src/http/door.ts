import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Hono } from "hono";
import { FairBudget } from "../base/fair-budget.ts";
import { EXECUTOR_HEADER, writeProcessStamp } from "../remote-protocol/http.ts";
import { type RequestRefusal, remoteProblem } from "../remote-protocol/problems.ts";
import type { DispatchRequest } from "../remote-protocol/shapes.ts";
import type { RouteAccess } from "./access.ts";
import { type Authentication, authenticate, noteSender, type Sender } from "./authentication.ts";
import { admit, type Client, type Clients, type Credential, OPERATOR_CALLER } from "./clients.ts";
import type { Metric } from "./metrics.ts";
import { type RefusedRequest, refusalOf, refuse, refusedRequest } from "./refusals.ts";
import { HostCheck, type Incoming, Origins, refuseRepeated, stripBasePath } from "./request.ts";
import { limitReadingTime, openUnreadBudget } from "./respond.ts";
import type { TlsConnections } from "./tls/tls-connections.ts";

/** The routes of a server. A handler throws a {@link RequestRefusal} to refuse a request. */
export type Routes = Hono<{ Bindings: Incoming }>;

/** Returned by handlers that write the response themselves, now or later. */
export const ANSWERED: Response = new Response(null);

/** Connections that a part of a server takes over from HTTP. */
export interface Upgrades {
  /**
   * Whether a request asks for one. Any other upgrade is ignored, as HTTP allows.
   *
   * @param basePath The path below which clients reach the server through a proxy.
   */
  wanted(request: IncomingMessage, basePath: string): boolean;
  /**
   * Answers a request for one. Must not throw.
   *
   * @param head What the client has sent already after its request.
   */
  handle(request: IncomingMessage, socket: Socket, head: Buffer): void;
  /** Whether something has still to be reported to a client. */
  readonly areBusy: boolean;
  /** Ends the connections after what was sent. */
  end(): void;
  /** Ends the connections at once. */
  destroy(): void;
}

/** A part of a server: its routes, and what the server asks it. */
export interface RouteGroup {
  /** Adds its routes. Called once, before the server listens. */
  register(door: Door): void;
  /** Default: all connections are HTTP. Read after {@link register}. */
  readonly upgrades?: Upgrades | undefined;
  /** Why nothing that is accepted now would run; `undefined` if it would. */
  readonly unreadiness: string | undefined;
  readMetrics(): readonly Metric[];
  /**
   * Refuses later requests, and waits for what is under way.
   *
   * @param maxMs After which that is cancelled.
   */
  drain(maxMs: number): Promise<void>;
}

/** Bodies of requests that are buffered at once. */
export interface BodyBudget {
  /** The longest body. */
  readonly maxBytes: number;
  /** Every caller may always buffer one body of this size, even if the total is exhausted. */
  readonly budget: FairBudget;
}

/** Maximum bytes of all bodies that are buffered at once, as a multiple of `bodyBytes`. */
const BUFFERED_BODIES = 64;

/** Who sent a request. */
export interface Proven {
  readonly sender: Sender;
  /** Aborted when the login of the sender ends. Default: it has none. */
  readonly ended?: AbortSignal;
}

/** The sender of a request that shows in its body who sends it, before the body is read. */
export const UNKNOWN_YET: Sender = Object.freeze({
  caller: "login",
  credential: "",
  principal: undefined,
  isSigned: false,
});

/** How requests can show who sends them, besides the server's own credentials. */
export interface OtherProofs {
  /** The logins to the console. Default: it is not served, and neither cookies nor bodies count. */
  readonly logins?:
    | {
        /**
         * Returns the login of a request's cookie; `undefined` if it has none.
         *
         * @throws {RequestRefusal} `unauthenticated` if the cookie does not count.
         */
        proven(request: IncomingMessage): Proven | undefined;
        /** Ends the logins of all other senders. */
        endUnless(isCurrent: (sender: Sender) => boolean): void;
      }
    | undefined;
  /** Access tokens of an authorization server. Default: they are not accepted. */
  readonly accessTokens?:
    | {
        /**
         * @param problem Why the server's own credentials did not authenticate the sender.
         * @throws {RequestRefusal} as a rejection.
         */
        senderOf(request: IncomingMessage, problem: unknown): Promise<Sender>;
      }
    | undefined;
}

/** A request that ends if its client may no longer do the same. */
interface Revocable {
  readonly sender: Sender;
  readonly client: Client;
  revoke(): void;
}

/** Options of {@link Door}. */
export interface DoorOptions extends OtherProofs {
  /** Says what senders may do. Default: there are no roles, and whoever is authenticated may use every route. */
  readonly clients?: Clients | undefined;
  /** The pages that may use routes with cookies. Default: those of no other origin. */
  readonly origins?: Origins | undefined;
  readonly authentication: Authentication;
  /** Milliseconds in which a client must read a complete response. */
  readonly requestMs: number;
  /** Maximum bytes of a body. */
  readonly bodyBytes: number;
  /** Identifies this process in answers. */
  readonly processId: string;
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
  /** Whether the server is shutting down, so that each connection is closed after its response. */
  isDraining = false;
  /** Says what senders may do. `undefined` without roles. */
  readonly clients: Clients | undefined;
  readonly origins: Origins;
  /** The requests of clients whose responses have not been sent completely. */
  readonly requests: Set<Revocable> = new Set();
  readonly bodies: BodyBudget;
  /** The memory for responses and frames that clients have not read. */
  readonly unread: FairBudget = openUnreadBudget();
  /** They are matched with the path as it was sent. Parameters are decoded. */
  readonly routes: Routes = new Hono({ getPath: ({ url }) => url.split("?", 1)[0] ?? "" });
  readonly #options: DoorOptions;
  #open = 0;
  /** The number of open responses on each connection. */
  readonly #openOn = new WeakMap<Socket, number>();

  constructor(options: DoorOptions) {
    this.#options = options;
    this.authentication = options.authentication;
    this.clients = options.clients;
    this.origins = options.origins ?? new Origins([]);
    const { bodyBytes } = options;
    this.bodies = { maxBytes: bodyBytes, budget: new FairBudget(bodyBytes * BUFFERED_BODIES, bodyBytes) };
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

  /** Adds a route without a query. The handler checks the method, after the host. */
  addExact(path: string, handle: (incoming: Incoming) => void): void {
    this.routes.all(path, ({ env }) => {
      if (env.request.url !== path) this.refuseUnknown(env);
      handle(env);
      return ANSWERED;
    });
  }

  /**
   * Checks the host and the method of a request, and authenticates its sender.
   *
   * @throws {RequestRefusal} as a rejection.
   */
  async senderOf(request: IncomingMessage, method: "GET" | "HEAD" | "POST"): Promise<Sender> {
    const authority = this.hostCheck.check(request.headers);
    requireMethod(request, method);
    return authenticate(this, request, authority);
  }

  /**
   * Finds who sent a request, by the proofs that a route accepts.
   *
   * @param authority The host, which has been checked.
   * @throws {RequestRefusal} as a rejection.
   */
  async identify(
    request: IncomingMessage,
    authority: string,
    { proofs }: Pick<RouteAccess, "proofs">,
  ): Promise<Proven> {
    const { logins, accessTokens } = this.#options;
    const { authorization, "signature-input": signature } = request.headers;
    if (logins !== undefined && authorization === undefined && signature === undefined) {
      if (proofs.includes("body") && request.url?.includes("?") !== true) return { sender: UNKNOWN_YET };
      const login = proofs.includes("cookie") ? logins.proven(request) : undefined;
      if (login !== undefined) {
        noteSender(request, login.sender);
        return login;
      }
    }
    try {
      return { sender: await authenticate(this, request, authority) };
    } catch (problem) {
      if (accessTokens === undefined || !proofs.includes("access-token")) throw problem;
      const sender = await accessTokens.senderOf(request, problem);
      noteSender(request, sender);
      return { sender };
    }
  }

  /** @throws {RequestRefusal} 403 if an authenticated sender may not use a route. */
  admit(access: RouteAccess, sender: Sender): void {
    if (this.clients !== undefined) admit(access, this.clients.of(sender));
  }

  /**
   * Replaces credentials, and ends the requests and logins of those that may no longer do the same.
   *
   * @param holders Those with roles. Ignored if the server has no roles.
   */
  replace(authentication: Authentication, holders: readonly Credential[]): void {
    this.authentication = authentication;
    const { clients } = this;
    if (clients === undefined) return;
    clients.replace(holders);
    // A reload does not affect access tokens or the operator.
    const isCurrent = (sender: Sender): boolean =>
      sender.expiresAt !== undefined || sender.caller === OPERATOR_CALLER || authentication.isCurrent(sender);
    this.#options.logins?.endUnless((sender) => isCurrent(sender) && !clients.of(sender).is("caller"));
    for (const request of this.requests) {
      const { sender, client } = request;
      if (sender === UNKNOWN_YET) continue;
      if (!isCurrent(sender) || !clients.of(sender).equals(client)) request.revoke();
    }
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
    const { processId } = this.#options;
    try {
      response.setHeader(EXECUTOR_HEADER, writeProcessStamp(processId, performance.now()));
      if (this.isDraining || this.tls?.isRetired(socket)) response.setHeader("connection", "close");
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

/** @throws {RequestRefusal} `method_not_allowed` if it is another one. */
export function requireMethod({ method }: IncomingMessage, required: "GET" | "HEAD" | "POST"): void {
  if (method !== required) throw remoteProblem("method_not_allowed", `the method must be ${required}`);
}

function ignore(): void {}
