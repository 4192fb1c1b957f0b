import type { IncomingMessage, ServerResponse } from "node:http";
import {
  DISPATCH_PATH,
  HEALTH_PATH,
  METRICS_PATH,
  READY_PATH,
  TOOLS_PATH,
} from "../../remote-protocol/http.ts";
import { RemoteProblem } from "../../remote-protocol/problems.ts";
import type { ExecutorLimits } from "../load/limits.ts";
import type { Dispatcher } from "../once/dispatcher.ts";
import type { Authentication, Sender } from "./authentication.ts";
import { stripBasePath } from "./base-path.ts";
import { DispatchRoute } from "./dispatch-route.ts";
import { HostCheck, refuseRepeated } from "./host-check.ts";
import type { MoreRoutes, RouteRefusal } from "./more-routes.ts";
import { type KnownOfRequest, problemOf, type RefusedRequest, refusedRequest } from "./refused-request.ts";
import { limitReadingTime, respond, respondJson, respondProblem } from "./respond.ts";

const PLAIN_TEXT = { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" };
const PROMETHEUS_TEXT = { "content-type": "text/plain; version=0.0.4; charset=utf-8" };

/** Checks the host and the sender of each request, and responds to it by its path. */
export class Routes {
  /** Refuses all requests until the executor's address is known. */
  hostCheck: HostCheck = new HostCheck([]);
  authentication: Authentication;
  /** Whether load balancers may send calls. */
  isReady = true;
  readonly #dispatcher: Dispatcher;
  readonly #dispatchRoute: DispatchRoute;
  readonly #requestMs: number;
  readonly #writeTools: () => string;
  readonly #onRefusal: (refused: RefusedRequest) => void;
  readonly #more: MoreRoutes | undefined;
  #open = 0;

  /**
   * @param writeTools Returns the list of tools as JSON text.
   * @param onRefusal Receives each request that is refused. Must not throw.
   * @param more Further routes.
   */
  constructor(
    dispatcher: Dispatcher,
    authentication: Authentication,
    limits: ExecutorLimits,
    writeTools: () => string,
    onRefusal: (refused: RefusedRequest) => void,
    more: MoreRoutes | undefined,
  ) {
    this.#dispatcher = dispatcher;
    this.authentication = authentication;
    this.#dispatchRoute = new DispatchRoute(dispatcher, limits);
    this.#requestMs = limits.requestMs;
    this.#writeTools = writeTools;
    this.#onRefusal = onRefusal;
    this.#more = more;
  }

  /** The number of requests whose responses have not been sent completely. */
  get open(): number {
    return this.#open;
  }

  /** Responds to a request, now or later. Never throws. */
  handle(request: IncomingMessage, response: ServerResponse): void {
    this.#open++;
    response.on("close", this.#closed);
    limitReadingTime(response, this.#requestMs);
    // A broken connection is handled in `close`.
    response.on("error", ignore);
    try {
      if (this.#dispatcher.isDraining) response.setHeader("connection", "close");
      this.#answer(request, response);
    } catch (thrown) {
      this.#fail(request, response, thrown);
    }
  }

  readonly #closed = (): void => {
    this.#open--;
  };

  #fail(
    request: IncomingMessage,
    response: ServerResponse,
    thrown: unknown,
    known: KnownOfRequest = {},
  ): void {
    const problem = problemOf(thrown);
    this.#tell(request, problem, known);
    if (response.headersSent) response.destroy();
    else respondProblem(request, response, problem);
  }

  /** Counts a problem, and tells the operator of it. */
  #tell(request: IncomingMessage, problem: RemoteProblem | RouteRefusal, known: KnownOfRequest): void {
    this.#dispatcher.metrics.refused(problem.code);
    this.#onRefusal(refusedRequest(request, problem, known));
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
      case DISPATCH_PATH: {
        const sender = this.#senderOf(request, "POST");
        const { principal } = sender;
        const { authentication } = this;
        this.#more?.admitDispatch(sender);
        this.#dispatchRoute.handle(request, response, sender, {
          admit: () => {
            if (this.authentication !== authentication) this.authentication.refuseUnlessCurrent(sender);
            this.#more?.admitDispatch(sender);
          },
          fail: (thrown, body) => this.#fail(request, response, thrown, { principal, body }),
          tell: (problem, body) => this.#tell(request, problem, { principal, body }),
        });
        break;
      }
      case TOOLS_PATH:
        this.#senderOf(request, "GET");
        respondJson(response, this.#writeTools());
        break;
      case METRICS_PATH:
        this.#senderOf(request, "GET");
        respond(response, 200, PROMETHEUS_TEXT, this.#dispatcher.writeMetrics());
        break;
      default:
        if (this.#more?.has(request)) {
          const fail = (thrown: unknown): void => this.#fail(request, response, thrown);
          this.#more.handle(request, response, this).catch(fail);
          break;
        }
        this.hostCheck.check(request.headers);
        throw new RemoteProblem("not_found", "the path does not exist");
    }
  }

  get #unreadiness(): string | undefined {
    return this.isReady ? (this.#dispatcher.unreadiness ?? this.#more?.unreadiness) : "draining";
  }

  /** Checks the host and the method of a request, and authenticates its sender. */
  #senderOf(request: IncomingMessage, method: "GET" | "POST"): Sender {
    const authority = this.hostCheck.check(request.headers);
    requireMethod(request, method);
    return this.authentication.check(request, authority);
  }
}

function ignore(): void {}

/** @param problem `undefined` if all is well. */
function answerStatus(request: IncomingMessage, response: ServerResponse, problem: string | undefined): void {
  // Probes may ask for the head only. Node does not send a body in response to `HEAD`.
  if (request.method !== "HEAD") requireMethod(request, "GET");
  respond(response, problem === undefined ? 200 : 503, PLAIN_TEXT, `${problem ?? "ok"}\n`);
}

function requireMethod({ method }: IncomingMessage, required: "GET" | "POST"): void {
  if (method !== required) throw new RemoteProblem("method_not_allowed", `the method must be ${required}`);
}
