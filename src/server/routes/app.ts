import type { MiddlewareHandler } from "hono";
import { ACCESS, type RouteAccess } from "../../http/access.ts";
import { admit } from "../../http/clients.ts";
import { ANSWERED, type Door, type RouteGroup } from "../../http/door.ts";
import { type Exchange, entering } from "../../http/exchange.ts";
import type { Metric } from "../../http/metrics.ts";
import { notFound, storeFailed } from "../../http/refusals.ts";
import { SessionStoreError } from "../../sessions/session-errors.ts";
import { PAGE_PATH } from "../console/page-files.ts";
import type { SessionService } from "../service.ts";
import type { SessionMetrics } from "../session-metrics.ts";
import { adminRoutes, journalTrialRoutes } from "./admin.ts";
import { callRoutes } from "./calls.ts";
import { changeRoutes } from "./changes.ts";
import { answerLinkRoutes, approvalRoutes, confirmationRoutes, programRoutes } from "./confirmations.ts";
import { consoleRoutes } from "./console.ts";
import { journalRoutes, overviewRoutes } from "./journal.ts";
import { messageRoutes } from "./messages.ts";
import type { App, AppBindings } from "./serve.ts";
import { eventRoutes, sessionRoutes } from "./sessions.ts";
import { toolRoutes } from "./tools.ts";
import { turnRoutes } from "./turns.ts";

const ROUTES = [
  sessionRoutes,
  messageRoutes,
  turnRoutes,
  eventRoutes,
  confirmationRoutes,
  approvalRoutes,
  changeRoutes,
  adminRoutes,
  programRoutes,
  toolRoutes,
  overviewRoutes,
  journalRoutes,
  journalTrialRoutes,
  consoleRoutes,
  callRoutes,
  answerLinkRoutes,
];

/** The paths of operations, with all that is below them: only clients learn what is there. */
const AREAS: readonly string[] = [
  "/v1/sessions",
  "/v1/confirmations",
  "/v1/programs",
  "/v1/policy",
  "/v1/pause",
  "/v1/resume",
  "/v1/overview",
  "/v1/journal",
  "/v1/console/tools",
];
/** Those that only a server with a console has. */
const CONSOLE_AREAS: readonly string[] = ["/v1/console", "/v1/calls"];

/** See {@link RouteAccess.sessionAgeMs}. */
const RECENT_MS = 500;

/** What {@link SessionRoutes} are made of. */
interface SessionRoutesParts {
  readonly service: SessionService;
  readonly metrics: SessionMetrics;
  /** Resolves when nothing else uses the sessions, so that they can be closed. */
  readonly othersDrained: () => Promise<void>;
}

/** The routes of sessions, and the page of the console. */
export class SessionRoutes implements RouteGroup {
  readonly #parts: SessionRoutesParts;

  constructor(parts: SessionRoutesParts) {
    this.#parts = parts;
  }

  register(door: Door): void {
    const { service } = this.#parts;
    const { console } = service;
    const areas = console === undefined ? AREAS : [...AREAS, ...CONSOLE_AREAS];
    // The first handler replaces what the others get.
    const routes = door.routes as unknown as App["routes"];
    const enter = ({ proofs }: Pick<RouteAccess, "proofs">): MiddlewareHandler<AppBindings> =>
      entering(door, { proofs }, (client) => service.unreadOf(client));
    const app: App = {
      routes,
      has: (path) => areas.some((area) => path === area || path.startsWith(`${area}/`)),
      guard: (access) => [enter(access), admitting(access, service)],
    };
    addSessionRoutes(app, service);
    for (const area of areas) {
      routes.all(`${area}/*`, enter(ACCESS.read), () => {
        throw notFound();
      });
    }
    if (console === undefined) return;
    door.routes.all(`${PAGE_PATH}*`, ({ env: { request, response } }) => {
      const { host } = request.headers;
      door.hostCheck.check({ ...(host !== undefined && { host }) });
      console.page.respond(request, response);
      return ANSWERED;
    });
  }

  get unreadiness(): string | undefined {
    const { sessions, admin } = this.#parts.service;
    if (sessions.problem !== undefined) return "the store cannot be written";
    return admin.isPaused ? "paused" : undefined;
  }

  readMetrics(): readonly Metric[] {
    return this.#parts.metrics.read();
  }

  async drain(maxMs: number): Promise<void> {
    await this.#parts.othersDrained();
    await this.#parts.service.close(maxMs);
  }
}

/** Adds every operation of sessions that the server has. */
export function addSessionRoutes(app: App, service: SessionService): void {
  for (const add of ROUTES) add(app, service);
}

/** Passes on the requests of clients that may use a route. */
function admitting(access: RouteAccess, service: SessionService): MiddlewareHandler<AppBindings> {
  return async ({ env, req }, next) => {
    const { client }: Exchange = env;
    try {
      // Another server may have opened or changed it.
      if (access.session)
        await service.sessions.find(req.param("id") ?? "", { maxAgeMs: access.sessionAgeMs ?? RECENT_MS });
      admit(access, client, access.session && service.session(client, req.param("id") ?? ""));
      return await next();
    } catch (error) {
      throw error instanceof SessionStoreError ? storeFailed(error) : error;
    }
  };
}
