import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { FairBudget } from "../base/fair-budget.ts";
import { type Authentication, authenticate, type Sender } from "../http/authentication.ts";
import { stripBasePath } from "../http/listen-address.ts";
import type { MoreRoutes } from "../http/more-routes.ts";
import { ProcessMetrics } from "../http/process-metrics.ts";
import { withoutOthers, writeMetrics } from "../http/prometheus-text.ts";
import { type RefusedRequest, refusalOf, refuse, refusedRequest } from "../http/refusals.ts";
import { HostCheck, refuseRepeated } from "../http/request.ts";
import { limitReadingTime, limitUnread, respond, respondJson } from "../http/respond.ts";
import type { TlsConnections } from "../http/tls/tls-connections.ts";
import { UnreadAnswers } from "../http/unread-answers.ts";
import type { Principal } from "../policy/principal.ts";
import {
  DISPATCH_PATH,
  EXECUTOR_HEADER,
  HEALTH_PATH,
  METRICS_PATH,
  READY_PATH,
  TOOLS_PATH,
  writeProcessStamp,
} from "../remote-protocol/http.ts";
import { type RequestRefusal, remoteProblem } from "../remote-protocol/problems.ts";
import type { DispatchRequest } from "../remote-protocol/shapes.ts";
import { DispatchRoute } from "./dispatch-route.ts";
import type { ExecutorLimits } from "./limits.ts";
import type { Dispatcher } from "./once/dispatcher.ts";

const PLAIN_TEXT = { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" };
const PROMETHEUS_TEXT = { "content-type": "text/plain; version=0.0.4; charset=utf-8" };

/**
 * Returns the list of tools as JSON text.
 *
 * @param listsAll Whether the list has tools that the principal can never call, too.
 */
export type WriteTools = (principal: Principal | undefined, listsAll: boolean) => string;

/** What {@link Routes} are made of. */
export interface RoutesParts {
  readonly dispatcher: Dispatcher;
  readonly authentication: Authentication;
  readonly limits: ExecutorLimits;
  /** The memory for the bodies of calls. */
  readonly bodies: FairBudget;
  /** The memory for what clients have not read. */
  readonly unread: FairBudget;
  readonly writeTools: WriteTools;
  /** Receives each request that is refused. Must not throw. */
  readonly onRefusal: (refused: RefusedRequest) => void;
  /** Further routes. */
  readonly more: MoreRoutes | undefined;
}

/** Checks the host and the sender of each request, and responds to it by its path. */
export class Routes {
  /** Refuses all requests until the executor's address is known. */
  hostCheck: HostCheck = new HostCheck([]);
  authentication: Authentication;
  /** The connections of a server with TLS. */
  tls: TlsConnections | undefined;
  readonly process: ProcessMetrics = new ProcessMetrics();
  /** Whether load balancers may send calls. */
  isReady = true;
  readonly #dispatcher: Dispatcher;
  readonly #dispatchRoute: DispatchRoute;
  readonly #requestMs: number;
  readonly #unread: FairBudget;
  readonly #writeTools: WriteTools;
  readonly #onRefusal: (refused: RefusedRequest) => void;
  readonly #more: MoreRoutes | undefined;
  #open = 0;
  /** The number of open responses on each connection. */
  readonly #openOn = new WeakMap<Socket, number>();

  constructor({
    dispatcher,
    authentication,
    limits,
    bodies,
    unread,
    writeTools,
    onRefusal,
    more,
  }: RoutesParts) {
    this.#dispatcher = dispatcher;
    this.authentication = authentication;
    this.#dispatchRoute = new DispatchRoute(dispatcher, limits, bodies, unread);
    this.#requestMs = limits.requestMs;
    this.#unread = unread;
    this.#writeTools = writeTools;
    this.#onRefusal = onRefusal;
    this.#more = more;
  }

  /** The number of requests whose responses have not been sent completely. */
  get open(): number {
    return this.#open;
  }

  /** Whether a response on a connection has not been sent completely. */
  isAnsweringOn(socket: Socket): boolean {
    return (this.#openOn.get(socket) ?? 0) > 0;
  }

  /** See {@link Guards.refuseRetired}. */
  refuseRetired(socket: Socket): void {
    if (this.tls?.isRetired(socket))
      throw remoteProblem("unauthenticated", "the authorities of certificates were replaced: connect again");
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
    limitReadingTime(response, this.#requestMs);
    // A broken connection is handled in `close`.
    response.on("error", ignore);
    try {
      const { processId } = this.#dispatcher;
      response.setHeader(EXECUTOR_HEADER, writeProcessStamp(processId, performance.now()));
      if (this.#dispatcher.isDraining || this.tls?.isRetired(socket))
        response.setHeader("connection", "close");
      this.refuseRetired(socket);
      this.#answer(request, response);
    } catch (thrown) {
      this.#fail(request, response, thrown);
    }
  }

  #fail(request: IncomingMessage, response: ServerResponse, thrown: unknown, body?: DispatchRequest): void {
    const problem = refusalOf(thrown);
    this.#report(request, problem, body);
    if (response.headersSent) response.destroy();
    else refuse(request, response, problem);
  }

  /** Counts a problem, and reports it to the operator. */
  #report(request: IncomingMessage, problem: RequestRefusal, body?: DispatchRequest): void {
    this.#dispatcher.metrics.refused(problem.code);
    this.#onRefusal(refusedRequest(request, problem, body));
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    refuseRepeated(request);
    stripBasePath(request, this.authentication.basePath);
    switch (request.url) {
      // Health probes know neither the executor's names nor its credentials.
      case HEALTH_PATH:
        answerStatus(request, response, undefined);
        break;
      case READY_PATH:
        answerStatus(request, response, this.#unreadiness);
        break;
      case DISPATCH_PATH:
        this.#dispatch(request, response).catch((thrown) => this.#fail(request, response, thrown));
        break;
      case TOOLS_PATH:
        this.#answerSender(request, response, TOOLS_PATH, (sender) =>
          respondJson(response, this.#writeTools(sender.principal, !this.#mayDispatch(sender))),
        );
        break;
      case METRICS_PATH:
        this.#answerSender(request, response, METRICS_PATH, (sender) =>
          respond(response, 200, PROMETHEUS_TEXT, this.#writeMetrics(sender)),
        );
        break;
      default:
        if (this.#more?.has(request)) {
          const fail = (thrown: unknown): void => this.#fail(request, response, thrown);
          this.#more.handle(request, response, this).catch(fail);
          break;
        }
        this.hostCheck.check(request.headers);
        throw remoteProblem("not_found", "the path does not exist");
    }
  }

  async #dispatch(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { authentication } = this;
    const sender = await this.#senderOf(request, "POST");
    this.#more?.admit(`POST ${DISPATCH_PATH}`, sender);
    this.#dispatchRoute.handle(request, response, sender, {
      admit: () => {
        if (this.authentication !== authentication) this.authentication.refuseUnlessCurrent(sender);
        this.#more?.admit(`POST ${DISPATCH_PATH}`, sender);
      },
      fail: (thrown, body) => this.#fail(request, response, thrown, body),
      report: (problem, body) => this.#report(request, problem, body),
    });
  }

  /** Responds to a request without a body if its sender is authenticated, and may send it. */
  #answerSender(
    request: IncomingMessage,
    response: ServerResponse,
    path: typeof TOOLS_PATH | typeof METRICS_PATH,
    answer: (sender: Sender) => void,
  ): void {
    const method = path === METRICS_PATH && request.method === "HEAD" ? "HEAD" : "GET";
    const answered = this.#senderOf(request, method).then((sender) => {
      this.#more?.admit(`GET ${path}`, sender);
      limitUnread(response, new UnreadAnswers(this.#unread, sender.caller));
      answer(sender);
    });
    answered.catch((thrown) => this.#fail(request, response, thrown));
  }

  /** Those who only read see the tools of everyone. */
  #mayDispatch(sender: Sender): boolean {
    try {
      this.#more?.admit(`POST ${DISPATCH_PATH}`, sender);
      return true;
    } catch {
      return false;
    }
  }

  /** Without roles, everyone who reads the metrics is a caller. */
  #writeMetrics({ principal }: Sender): string {
    const all = [this.#dispatcher.readMetrics(), this.#more?.readMetrics() ?? [], this.process.read()].flat();
    return writeMetrics(this.#more === undefined ? withoutOthers(all, principal?.id) : all);
  }

  get #unreadiness(): string | undefined {
    return this.isReady ? (this.#dispatcher.unreadiness ?? this.#more?.unreadiness) : "draining";
  }

  /** Checks the host and the method of a request, and authenticates its sender. */
  async #senderOf(request: IncomingMessage, method: "GET" | "HEAD" | "POST"): Promise<Sender> {
    const authority = this.hostCheck.check(request.headers);
    requireMethod(request, method);
    return authenticate(this, request, authority);
  }
}

function ignore(): void {}

/** @param problem `undefined` if all is well. */
function answerStatus(request: IncomingMessage, response: ServerResponse, problem: string | undefined): void {
  // Probes may ask for the head only. Node does not send a body in response to `HEAD`.
  if (request.method !== "HEAD") requireMethod(request, "GET");
  respond(response, problem === undefined ? 200 : 503, PLAIN_TEXT, `${problem ?? "ok"}\n`);
}

function requireMethod({ method }: IncomingMessage, required: "GET" | "HEAD" | "POST"): void {
  if (method !== required) throw remoteProblem("method_not_allowed", `the method must be ${required}`);
}
