import { ReadableStream as WebStream } from "node:stream/web";
import type { Client } from "../../http/clients.ts";
import { badRequest, notFound } from "../../http/refusals.ts";
import {
  CALL_FILTERS,
  CALLS,
  type CallFeedEvent,
  DEFAULT_LISTED_CALLS,
  MAX_LISTED_CALLS,
} from "../../shapes/calls.ts";
import { callDetails, callSummary, numberOf, refOf, sees } from "../console/calls/call-view.ts";
import type { ConsoleCall } from "../console/calls/console-call.ts";
import type { Console } from "../console/console.ts";
import type { EventStreamOptions } from "../event-stream.ts";
import { EVENT_STREAM_HEADERS } from "../event-stream.ts";
import type { SessionService } from "../service.ts";
import { consoleOf } from "./console.ts";
import { type App, serve } from "./serve.ts";

/** Milliseconds after which a silent stream sends a comment, so that dead connections are found. */
const KEEP_ALIVE_MS = 15_000;

const KEEP_ALIVE = Buffer.from(": keep-alive\n\n");

/** Options of {@link callFeed}. */
interface CallFeedOptions extends Pick<EventStreamOptions, "signal" | "unread" | "epoch"> {
  readonly console: Console;
  readonly client: Client;
}

/** Lists the latest calls, and sends their changes. */
export function callRoutes(app: App, service: SessionService): void {
  const { epoch } = service;

  serve(app, CALLS.listCalls, ({ env, req, json }) => {
    const { calls, redaction } = consoleOf(service);
    const { state, tool, session, code, before, limit } = req.query();
    if (state !== undefined && !CALL_FILTERS.some((each) => each === state))
      throw badRequest(`state must be one of ${CALL_FILTERS.join(", ")}`);
    const matches = (record: ConsoleCall): boolean =>
      (state === undefined || (record.hasEnded ? "ended" : record.state) === state) &&
      hasPart(record.toolName, tool) &&
      (hasPart(record.sessionId, session) || hasPart(record.session?.name, session)) &&
      hasPart(record.error?.code, code) &&
      sees(env.client, record);
    const most = limitOf(limit);
    const found: ConsoleCall[] = [];
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

  serve(app, CALLS.followCalls, ({ env }) => {
    const console = consoleOf(service);
    service.refuseIfEnding();
    const { client } = env;
    const stream = callFeed({ console, client, epoch, ...service.stream(env) });
    return new Response(stream, { headers: EVENT_STREAM_HEADERS });
  });

  serve(app, CALLS.getCall, async ({ env, req, json }) => {
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
  if (text === undefined) return DEFAULT_LISTED_CALLS;
  const limit = /^[0-9]{1,3}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > MAX_LISTED_CALLS)
    throw badRequest(`limit must be a number from 1 to ${MAX_LISTED_CALLS}`);
  return limit;
}

/**
 * Returns what changes as server-sent events: `calls`, `lost`, `server` and `attention`. Each is made when the client has read
 * the one before it, from how the calls are then.
 */
function callFeed(options: CallFeedOptions): ReadableStream<Uint8Array> {
  return WebStream.from(eventsOf(options)) as ReadableStream<Uint8Array>;
}

async function* eventsOf({
  console,
  client,
  epoch,
  signal,
  unread,
}: CallFeedOptions): AsyncGenerator<Uint8Array> {
  const { calls, pageChanges, redaction } = console;
  let seen = calls.changes;
  let server = "";
  let attention = console.attention;
  while (!signal.aborted) {
    const { version } = pageChanges;
    const now = write({ type: "server", server: console.server });
    if (now !== server) yield Buffer.from(now);
    server = now;
    if (attention !== console.attention) yield Buffer.from(write({ type: "attention" }));
    attention = console.attention;
    const changed = [...calls.changedSince(seen)].filter((record) => sees(client, record));
    seen = calls.changes;
    let lost = Math.max(changed.length - MAX_LISTED_CALLS, 0);
    if (changed.length > 0) {
      const latest = changed
        .slice(0, MAX_LISTED_CALLS)
        .map((record) => callSummary(record, epoch, redaction));
      const chunk = Buffer.from(write({ type: "calls", calls: latest }));
      if (unread.acquire(chunk.length)) {
        try {
          yield chunk;
        } finally {
          unread.release(chunk.length);
        }
      } else lost = changed.length;
    }
    if (lost > 0) yield Buffer.from(write({ type: "lost", count: lost }));
    if (await pageChanges.wait(version, signal, KEEP_ALIVE_MS)) yield KEEP_ALIVE;
  }
}

/** Writes an event. JSON text has no line breaks. */
function write(event: CallFeedEvent): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}
