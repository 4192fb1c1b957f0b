import { PROTOCOLS } from "../../protocols/by-format.ts";
import { FORMATS, type Format } from "../../protocols/formats.ts";
import { parentName } from "../../sessions/calls/agent-records.ts";
import type { ModeState, SessionMode } from "../../sessions/modes/mode.ts";
import type { Modes } from "../../sessions/modes/modes.ts";
import { isAtLeastAsStrict } from "../../sessions/modes/strictness.ts";
import { TooManySessionsError } from "../../sessions/session-errors.ts";
import { isTrusted, realPath } from "../../sessions/trusted-workspaces.ts";
import { OWN_PREFIX } from "../../workspace/protected-places.ts";
import { pageOf } from "../http/page.ts";
import { badRequest, forbidden, overloaded } from "../http/refusals.ts";
import { OpenSessions } from "../listing/open-sessions.ts";
import type { SessionService } from "../service.ts";
import type { NewSession, SessionChange } from "../shapes.ts";
import type { App } from "./session-app.ts";

/** The most sessions of a page. */
const MAX_SESSIONS = 1_000;

/** Lists, opens, shows, changes and closes sessions. */
export function sessionRoutes(app: App, service: SessionService): void {
  const openSessions = new OpenSessions(service.sessions);

  app.get("/v1/sessions", async ({ env, req, json }) => {
    return json(await openSessions.page(env.client, pageOf(req.query(), MAX_SESSIONS)));
  });

  app.post("/v1/sessions", async ({ env, json }) => {
    const { client } = env;
    service.refuseIfEnding();
    const { mode = service.bounds.mode, workspace, kind, tools } = await env.read<NewSession>("NewSession");
    await checkBounds({ mode, workspace }, service);
    // The server can begin to shut down while the body arrives.
    service.refuseIfEnding();
    try {
      const { id } = await service.sessions.open({
        mode,
        ...(client.principal !== undefined && { principal: client.principal }),
        ...(workspace !== undefined && { workspace }),
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

  app.get("/v1/sessions/:id", ({ env, req, json }) => {
    const { id, kind, mode, isPlanApproved, origin } = service.session(env.client, req.param("id"));
    const parent = origin && parentName(origin);
    return json({ id, kind, mode, isPlanApproved, ...(parent !== undefined && { parent }) });
  });

  app.get("/v1/sessions/:id/definitions", ({ env, req, json }) => {
    const session = service.session(env.client, req.param("id"));
    const protocol = PROTOCOLS[formatOf(req.query("format")) ?? "native"](session.registry);
    return json({ tools: protocol.toTools().tools as object });
  });

  app.patch("/v1/sessions/:id", async ({ env, req, json }) => {
    const session = service.session(env.client, req.param("id"));
    const { mode } = await env.read<SessionChange>("SessionChange");
    try {
      await session.setMode(mode, env.client.principal?.id);
    } catch (error) {
      throw error instanceof TypeError ? badRequest(error.message) : error;
    }
    return json({ id: session.id, mode: session.mode });
  });

  app.delete("/v1/sessions/:id", async ({ env, req, json }) => {
    const session = service.session(env.client, req.param("id"));
    await session.close();
    return json({ id: session.id });
  });
}

/** @throws {RouteRefusal} 403 if a caller may not open such a session, and 400 if there is no such mode. */
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

/** @throws {RouteRefusal} 400 if there is no such mode. */
function resolve(modes: Modes, asked: SessionMode, least: SessionMode): readonly [ModeState, ModeState] {
  try {
    return [modes.resolve(asked), modes.resolve(least)];
  } catch (error) {
    throw error instanceof TypeError ? badRequest(error.message) : error;
  }
}

/** @throws {RouteRefusal} 400 if there is no such format. */
export function formatOf(given: string | undefined): Format | undefined {
  if (given === undefined) return undefined;
  const format = FORMATS.find((known) => known === given);
  if (format !== undefined) return format;
  throw badRequest(`the format must be one of ${FORMATS.join(", ")}`);
}
