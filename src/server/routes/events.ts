import { STREAM_MEDIA_TYPE } from "../../remote-protocol/http.ts";
import { eventStream, lastEventNumber } from "../events/event-stream.ts";
import { publicConfirmationEvent } from "../events/public-event.ts";
import type { App, Exchange } from "../http/exchange.ts";
import type { SessionService } from "../service.ts";

/** The headers of a stream of events. Proxies must not buffer events. */
export const EVENT_STREAM_HEADERS: Readonly<Record<string, string>> = Object.freeze({
  "content-type": STREAM_MEDIA_TYPE,
  "cache-control": "no-store",
  "x-accel-buffering": "no",
});

/** Sends the events of a session. */
export function eventRoutes(app: App, service: SessionService): void {
  app.get("/v1/sessions/:id/events", ({ env, req }) => {
    const session = service.session(env.client, req.param("id"));
    service.refuseIfEnding();
    const log = service.logs.of(session.id);
    const seen = lastEventNumber(env.request.headers["last-event-id"]?.toString(), service.epoch);
    const isCaller = !env.client.inspects(session);
    const open = service.sessions
      .openInquiries()
      .filter(({ sessionId }) => service.withAbove(sessionId).includes(session.id))
      .map((inquiry) => publicConfirmationEvent({ type: "requested", inquiry }, isCaller));
    // How many events of another process are lost is not known.
    const lost = seen === -1 ? [{ type: "events.lost" }] : [];
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

/** Whether the client asks for a stream of events. */
export function wantsEvents({ request }: Exchange): boolean {
  return (request.headers.accept ?? "").toLowerCase().includes(STREAM_MEDIA_TYPE);
}
