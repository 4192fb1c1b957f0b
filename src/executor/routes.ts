import type { IncomingMessage } from "node:http";
import type { FairBudget } from "../base/fair-budget.ts";
import { authenticate, type Sender } from "../http/authentication.ts";
import { ANSWERED, type Door } from "../http/door.ts";
import { ProcessMetrics } from "../http/process-metrics.ts";
import { type Metric, withoutOthers, writeMetrics } from "../http/prometheus-text.ts";
import type { Incoming } from "../http/request.ts";
import { limitUnread, respond, respondJson, UnreadAnswers } from "../http/respond.ts";
import type { Principal } from "../policy/principal.ts";
import type { FRAMES_PATH } from "../remote-protocol/frames/frame.ts";
import { DISPATCH_PATH, HEALTH_PATH, METRICS_PATH, READY_PATH, TOOLS_PATH } from "../remote-protocol/http.ts";
import { remoteProblem } from "../remote-protocol/problems.ts";
import { DispatchRoute } from "./dispatch-route.ts";
import type { ExecutorLimits } from "./limits.ts";
import type { Dispatcher } from "./once/dispatcher.ts";

/** A route of the executor that needs a credential, by its method and path. */
export type ExecutorRoute =
  | `POST ${typeof DISPATCH_PATH}`
  | `GET ${typeof FRAMES_PATH | typeof TOOLS_PATH | typeof METRICS_PATH}`;

/** Routes in addition to those of the remote protocol, on the same server. */
export interface MoreRoutes {
  /** Adds them to those of the server, once. */
  register(door: Door): void;
  /** Whether they accept credentials of their own: a request without any is then never accepted. */
  readonly hasCredentials: boolean;
  /**
   * Checks whether an authenticated sender may use a route of the executor.
   *
   * @param route Its method and path: `POST /v1/dispatch`.
   * @throws {RequestRefusal} otherwise.
   */
  admit(route: ExecutorRoute, sender: Sender): void;
  /** Why no call that is accepted now would run; `undefined` if calls run. */
  readonly unreadiness: string | undefined;
  /** Metrics in addition to those of the executor. */
  readMetrics(): readonly Metric[];
  /** Ends everything that is under way. Later requests are refused. */
  drain(): Promise<void>;
}

const PLAIN_TEXT = { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" };
const PROMETHEUS_TEXT = { "content-type": "text/plain; version=0.0.4; charset=utf-8" };

/**
 * Returns the list of tools as JSON text.
 *
 * @param listsAll Whether the list has tools that the principal can never call, too.
 */
export type WriteTools = (principal: Principal | undefined, listsAll: boolean) => string;

/** What {@link ExecutorRoutes} are made of. */
export interface ExecutorRoutesParts {
  readonly dispatcher: Dispatcher;
  readonly door: Door;
  readonly limits: ExecutorLimits;
  /** The memory for the bodies of calls. */
  readonly bodies: FairBudget;
  /** The memory for what clients have not read. */
  readonly unread: FairBudget;
  readonly writeTools: WriteTools;
  /** Further routes. */
  readonly more: MoreRoutes | undefined;
}

/** The routes of the remote protocol. */
export class ExecutorRoutes {
  readonly process: ProcessMetrics = new ProcessMetrics();
  /** Whether load balancers may send calls. */
  isReady = true;
  readonly #dispatcher: Dispatcher;
  readonly #door: Door;
  readonly #dispatchRoute: DispatchRoute;
  readonly #unread: FairBudget;
  readonly #writeTools: WriteTools;
  readonly #more: MoreRoutes | undefined;

  constructor({ dispatcher, door, limits, bodies, unread, writeTools, more }: ExecutorRoutesParts) {
    this.#dispatcher = dispatcher;
    this.#door = door;
    this.#dispatchRoute = new DispatchRoute(dispatcher, limits, bodies, unread);
    this.#unread = unread;
    this.#writeTools = writeTools;
    this.#more = more;
    // Health probes know neither the executor's names nor its credentials.
    this.#add(HEALTH_PATH, (incoming) => answerStatus(incoming, undefined));
    this.#add(READY_PATH, (incoming) => answerStatus(incoming, this.#unreadiness));
    this.#add(DISPATCH_PATH, (incoming) => {
      this.#dispatch(incoming).catch((thrown) => door.fail(incoming, thrown));
    });
    this.#add(TOOLS_PATH, (incoming) =>
      this.#answerSender(incoming, TOOLS_PATH, (sender) =>
        respondJson(incoming.response, this.#writeTools(sender.principal, !this.#mayDispatch(sender))),
      ),
    );
    this.#add(METRICS_PATH, (incoming) =>
      this.#answerSender(incoming, METRICS_PATH, (sender) =>
        respond(incoming.response, 200, PROMETHEUS_TEXT, this.#writeMetrics(sender)),
      ),
    );
  }

  /** Adds a route without a query. The handler checks the method, after the host. */
  #add(path: string, handle: (incoming: Incoming) => void): void {
    this.#door.routes.all(path, ({ env }) => {
      if (env.request.url !== path) this.#door.refuseUnknown(env);
      handle(env);
      return ANSWERED;
    });
  }

  async #dispatch(incoming: Incoming): Promise<void> {
    const { request, response } = incoming;
    const door = this.#door;
    const { authentication } = door;
    const sender = await this.#senderOf(request, "POST");
    this.#more?.admit(`POST ${DISPATCH_PATH}`, sender);
    this.#dispatchRoute.handle(request, response, sender, {
      admit: () => {
        if (door.authentication !== authentication) door.authentication.refuseUnlessCurrent(sender);
        this.#more?.admit(`POST ${DISPATCH_PATH}`, sender);
      },
      fail: (thrown, body) => door.fail(incoming, thrown, body),
      report: (problem, body) => void door.report(request, problem, body),
    });
  }

  /** Responds to a request without a body if its sender is authenticated, and may send it. */
  #answerSender(
    incoming: Incoming,
    path: typeof TOOLS_PATH | typeof METRICS_PATH,
    answer: (sender: Sender) => void,
  ): void {
    const { request, response } = incoming;
    const method = path === METRICS_PATH && request.method === "HEAD" ? "HEAD" : "GET";
    const answered = this.#senderOf(request, method).then((sender) => {
      this.#more?.admit(`GET ${path}`, sender);
      limitUnread(response, new UnreadAnswers(this.#unread, sender.caller));
      answer(sender);
    });
    answered.catch((thrown) => this.#door.fail(incoming, thrown));
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
    const authority = this.#door.hostCheck.check(request.headers);
    requireMethod(request, method);
    return authenticate(this.#door, request, authority);
  }
}

/** @param problem `undefined` if all is well. */
function answerStatus({ request, response }: Incoming, problem: string | undefined): void {
  // Probes may ask for the head only. Node does not send a body in response to `HEAD`.
  if (request.method !== "HEAD") requireMethod(request, "GET");
  respond(response, problem === undefined ? 200 : 503, PLAIN_TEXT, `${problem ?? "ok"}\n`);
}

function requireMethod({ method }: IncomingMessage, required: "GET" | "HEAD" | "POST"): void {
  if (method !== required) throw remoteProblem("method_not_allowed", `the method must be ${required}`);
}
