import type { Client } from "../../http/clients.ts";
import { badRequest, forbidden, overloaded } from "../../http/refusals.ts";
import { PROTOCOLS } from "../../protocols/by-format.ts";
import { FORMATS, type Format } from "../../protocols/formats.ts";
import { parentName } from "../../sessions/calls/core.ts";
import { isAtLeastAsStrict, type ModeState, type SessionMode } from "../../sessions/modes/mode.ts";
import type { Modes } from "../../sessions/modes/modes.ts";
import type { Session } from "../../sessions/session.ts";
import { TooManySessionsError } from "../../sessions/session-errors.ts";
import type { Sessions } from "../../sessions/sessions.ts";
import { isTrusted, realPath } from "../../sessions/trusted-workspaces.ts";
import {
  MAX_LISTED_SESSIONS,
  NewSession,
  SESSIONS,
  SessionChange,
  type SessionList,
  type ShownSession,
} from "../../shapes/sessions.ts";
import { OWN_PREFIX } from "../../workspace/protected-places.ts";
import { EVENT_STREAM_HEADERS, eventStream, lastEventNumber } from "../event-stream.ts";
import { publicConfirmationEvent } from "../public-event.ts";
import type { SessionService } from "../service.ts";
import { type App, type Page, pageOf, serve } from "./serve.ts";

/** Lists the open sessions, the latest first. */
class OpenSessions {
  readonly #sessions: Sessions;
  /** In the order of opening. A page is found by these numbers even if its sessions were closed meanwhile. */
  readonly #numbers = new WeakMap<Session, number>();
  #last = 0;

  constructor(sessions: Sessions) {
    this.#sessions = sessions;
  }

  /** Returns those of the page that the client inspects. */
  async page(client: Client, { before = Number.POSITIVE_INFINITY, limit }: Page): Promise<SessionList> {
    const open = await this.#sessions.findAll();
    const earlier = open.filter((session) => this.#numberOf(session) < before && client.inspects(session));
    const shown = earlier.slice(-limit).reverse();
    const confirmations = this.#countConfirmations();
    const last = shown.at(-1);
    return {
      sessions: shown.map((session) => viewOf(session, confirmations.get(session.id) ?? 0)),
      ...(last !== undefined && shown.length < earlier.length && { next: this.#numberOf(last) }),
    };
  }

  /** New sessions come last in the list, which is why they can be numbered when it is read. */
  #numberOf(session: Session): number {
    let number = this.#numbers.get(session);
    if (number === undefined) {
      number = ++this.#last;
      this.#numbers.set(session, number);
    }
    return number;
  }

  #countConfirmations(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const { sessionId } of this.#sessions.openConfirmations()) {
      counts.set(sessionId, (counts.get(sessionId) ?? 0) + 1);
    }
    return counts;
  }
}

/** Lists, opens, shows, changes and closes sessions. */
export function sessionRoutes(app: App, service: SessionService): void {
  const openSessions = new OpenSessions(service.sessions);

  serve(app, SESSIONS.listSessions, async ({ env, req, json }) => {
    return json(await openSessions.page(env.client, pageOf(req.query(), MAX_LISTED_SESSIONS)));
  });

  serve(app, SESSIONS.openSession, async ({ env, json }) => {
    const { client } = env;
    service.refuseIfEnding();
    const given = await env.read(NewSession);
    const { mode = service.bounds.mode, workspace, name, kind, tools } = given;
    await checkBounds({ mode, workspace }, service);
    // The server can begin to shut down while the body arrives.
    service.refuseIfEnding();
    try {
      const { id } = await service.sessions.open({
        mode,
        ...(client.principal !== undefined && { principal: client.principal }),
        ...(workspace !== undefined && { workspace }),
        ...(name !== undefined && { name }),
        ...(kind !== undefined && { kind }),
        ...(tools !== undefined && { tools }),
      });
      return json({ id }, 201);
    } catch (error) {
      if (error instanceof TooManySessionsError) throw overloaded(error.message);
      if (error instanceof TypeError) throw badRequest(error.message);
      throw error;
    }
  });

  serve(app, SESSIONS.readSession, ({ env, req, json }) => {
    const { id, name, kind, mode, isPlanApproved, origin } = service.session(env.client, req.param("id"));
    const parent = origin && parentName(origin);
    return json({
      id,
      ...(name !== undefined && { name }),
      kind,
      mode,
      isPlanApproved,
      ...(parent !== undefined && { parent }),
    });
  });

  serve(app, SESSIONS.listDefinitions, ({ env, req, json }) => {
    const session = service.session(env.client, req.param("id"));
    const protocol = PROTOCOLS[formatOf(req.query("format")) ?? "native"](session.registry);
    return json(protocol.toTools());
  });

  serve(app, SESSIONS.changeSession, async ({ env, req, json }) => {
    const session = service.session(env.client, req.param("id"));
    const { mode } = await env.read(SessionChange);
    try {
      await session.setMode(mode, env.client.principal?.id);
    } catch (error) {
      throw error instanceof TypeError ? badRequest(error.message) : error;
    }
    return json({ id: session.id, mode: session.mode });
  });

  serve(app, SESSIONS.closeSession, async ({ env, req, json }) => {
    const session = service.session(env.client, req.param("id"));
    await session.close();
    return json({ id: session.id });
  });
}

/** @throws {RequestRefusal} 403 if a caller may not open such a session, and 400 if there is no such mode. */
async function checkBounds(
  { mode, workspace }: { readonly mode: SessionMode; readonly workspace: string | undefined },
  { bounds, sessions }: SessionService,
): Promise<void> {
  const [asked, least] = resolve(sessions.modes, mode, bounds.mode);
  if (!isAtLeastAsStrict(asked, least)) {
    const which = typeof bounds.mode === "string" ? `'${bounds.mode}'` : "the mode of the server";
    throw forbidden(`a caller can open a session only in a mode that is at least as strict as ${which}`);
  }
  if (workspace === undefined) return;
  const real = await realPath(workspace);
  if (real?.split("/").includes(OWN_PREFIX))
    throw forbidden("the workspace is in a folder of Sandgate's own");
  if (!(await isTrusted(real, bounds.workspaces))) {
    throw forbidden("the workspace is not below one of the server's workspaces");
  }
}

/** @throws {RequestRefusal} 400 if there is no such mode. */
function resolve(modes: Modes, asked: SessionMode, least: SessionMode): readonly [ModeState, ModeState] {
  try {
    return [modes.resolve(asked), modes.resolve(least)];
  } catch (error) {
    throw error instanceof TypeError ? badRequest(error.message) : error;
  }
}

/** @throws {RequestRefusal} 400 if there is no such format. */
export function formatOf(given: string | undefined): Format | undefined {
  if (given === undefined) return undefined;
  const format = FORMATS.find((known) => known === given);
  if (format !== undefined) return format;
  throw badRequest(`the format must be one of ${FORMATS.join(", ")}`);
}

function viewOf(session: Session, openConfirmations: number): ShownSession {
  const { id, name, kind, openedAt, mode, principal, origin, changes, lanes } = session;
  return {
    id,
    ...(name !== undefined && { name }),
    kind,
    openedAt,
    // A mode that a client defined can name a thousand tools, which the session itself shows.
    mode: typeof mode === "string" ? mode : { base: mode.base },
    ...(principal !== undefined && { principal: { id: principal.id } }),
    ...(origin !== undefined && { parent: parentName(origin) }),
    openConfirmations,
    stagedChanges: changes.count,
    runningCalls: lanes.running,
  };
}

/** Sends the events of a session. */
export function eventRoutes(app: App, service: SessionService): void {
  serve(app, SESSIONS.readEvents, ({ env, req }) => {
    const session = service.session(env.client, req.param("id"));
    service.refuseIfEnding();
    const log = service.logs.of(session.id);
    const seen = lastEventNumber(env.request.headers["last-event-id"]?.toString(), service.epoch);
    const isCaller = !env.client.inspects(session);
    const open = service.sessions
      .openConfirmations()
      .filter(({ sessionId }) => service.withAbove(sessionId).includes(session.id))
      .map((confirmation) => publicConfirmationEvent({ type: "requested", confirmation }, isCaller));
    // How many events of another process are lost is not known.
    const lost = seen === -1 ? [{ type: "events.lost" } as const] : [];
    const room = service.stream(env);
    service.attach(env, session);
    const stream = eventStream({
      log,
      epoch: service.epoch,
      isCaller,
      after: seen === undefined ? log.last : Math.min(Math.max(seen, 0), log.last),
      first: [...lost, ...open],
      ...room,
    });
    return new Response(stream, { headers: EVENT_STREAM_HEADERS });
  });
}
