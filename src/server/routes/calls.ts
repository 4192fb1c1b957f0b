import { callFeed } from "../console/call-feed.ts";
import { callDetails } from "../console/calls/call-details.ts";
import type { CallRecord } from "../console/calls/call-record.ts";
import { callSummary, numberOf, refOf, sees } from "../console/calls/call-view.ts";
import { badRequest, notFound } from "../http/refusals.ts";
import type { SessionService } from "../service.ts";
import { consoleOf } from "./console.ts";
import { EVENT_STREAM_HEADERS } from "./events.ts";
import type { App } from "./session-app.ts";

const STATES: readonly string[] = ["running", "waiting", "ended"];
const DEFAULT_LIMIT = 200;
const MAX_LIMIT = 500;

/** Lists the latest calls, and sends their changes. */
export function callRoutes(app: App, service: SessionService): void {
  const { epoch } = service;

  app.get("/v1/calls", ({ env, req, json }) => {
    const { calls, redaction } = consoleOf(service);
    const { state, tool, session, code, before, limit } = req.query();
    if (state !== undefined && !STATES.includes(state))
      throw badRequest(`state must be one of ${STATES.join(", ")}`);
    const matches = (record: CallRecord): boolean =>
      (state === undefined || (record.hasEnded ? "ended" : record.state) === state) &&
      hasPart(record.toolName, tool) &&
      hasPart(record.sessionId, session) &&
      hasPart(record.error?.code, code) &&
      sees(env.client, record);
    const most = limitOf(limit);
    const found: CallRecord[] = [];
    for (const record of calls.before(before === undefined ? undefined : refNumber(before))) {
      if (matches(record)) found.push(record);
      if (found.length > most) break;
    }
    const last = found.length > most ? found[most - 1] : undefined;
    return json({
      calls: found.slice(0, most).map((record) => callSummary(record, epoch, redaction)),
      ...(last && { next: refOf(epoch, last.number) }),
    });
  });

  app.get("/v1/calls/events", ({ env }) => {
    const console = consoleOf(service);
    service.refuseIfEnding();
    const { client } = env;
    const stream = callFeed({ console, client, epoch, ...service.stream(env) });
    return new Response(stream, { headers: EVENT_STREAM_HEADERS });
  });

  app.get("/v1/calls/:ref", async ({ env, req, json }) => {
    const console = consoleOf(service);
    const record = console.calls.get(numberOf(epoch, req.param("ref")) ?? 0);
    if (record === undefined || !sees(env.client, record)) throw notFound();
    return json(await callDetails(record, epoch, console));
  });

  function refNumber(ref: string): number {
    const number = numberOf(epoch, ref);
    if (number === undefined) throw badRequest("before must be a reference of a call of this server");
    return number;
  }
}

function hasPart(text: string | undefined, part: string | undefined): boolean {
  return part === undefined || (text?.includes(part) ?? false);
}

function limitOf(text: string | undefined): number {
  if (text === undefined) return DEFAULT_LIMIT;
  const limit = /^[0-9]{1,3}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > MAX_LIMIT) throw badRequest(`limit must be a number from 1 to ${MAX_LIMIT}`);
  return limit;
}
