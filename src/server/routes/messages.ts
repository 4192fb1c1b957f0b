import { readTraceHeaders, type TraceHeaders } from "../../base/trace-headers.ts";
import type { ToolCall } from "../../engine/call.ts";
import type { Exchange } from "../../http/exchange.ts";
import { badRequest, conflict, forgotten, overloaded } from "../../http/refusals.ts";
import { PROTOCOLS } from "../../protocols/by-format.ts";
import type { Format } from "../../protocols/formats.ts";
import { ProtocolError } from "../../protocols/parsing/shape.ts";
import { STREAM_MEDIA_TYPE } from "../../remote-protocol/http.ts";
import type { RequestRefusal } from "../../remote-protocol/problems.ts";
import {
  ForgottenTurnError,
  MessageConflictError,
  messageIds,
  turnOfMessage,
} from "../../sessions/calls/stored-messages.ts";
import type { Session } from "../../sessions/session.ts";
import { SessionStoreError } from "../../sessions/session-errors.ts";
import type { AcceptedMessage, Turn } from "../../sessions/turn.ts";
import { NewMessage, TURNS } from "../../shapes/turns.ts";
import { EVENT_STREAM_HEADERS, eventStream, type FinalEvent } from "../event-stream.ts";
import type { AdmittedMessage } from "../message-bounds.ts";
import { placeOf, type SessionService } from "../service.ts";
import { type App, serve } from "./serve.ts";

/** Adds messages to turns. */
export function messageRoutes(app: App, service: SessionService): void {
  serve(app, TURNS.addMessage, async ({ env, req, json }) => {
    const session = service.session(env.client, req.param("id"));
    service.refuseIfEnding();
    const message = await env.read(NewMessage);
    // While the body arrives, the server can begin to shut down, and the session can be closed.
    service.refuseIfEnding();
    service.refuseIfPaused();
    if (service.sessions.get(session.id) === undefined) throw sessionClosed();
    const calls = callsOf(message, session);
    const room = wantsEvents(env) ? service.stream(env) : undefined;
    const log = service.logs.of(session.id);
    const after = log.last;
    const ids = messageIds(message);
    const end = service.messages.begin(session.id);
    if (end === undefined) throw overloaded("too many messages of the session are under way");
    let admitted: AdmittedMessage | undefined;
    try {
      admitted = admitMessage(service, session, ids, env.bodyBytes);
      const trace = readTraceHeaders(env.request.headers);
      const { turn, accepted } = await accept(session, calls, ids, { ...message, trace }, admitted);
      const ended = follow(service, turn, accepted, admitted).finally(end);
      // If a result cannot be stored, the turn reports it. Here it must not end the process.
      ended.catch(() => {});
      if (room === undefined) return json(ids, 202);
      const stream = eventStream({
        log,
        epoch: service.epoch,
        isCaller: !env.client.inspects(session),
        after,
        first: [],
        last: ended,
        ...room,
      });
      return new Response(stream, { headers: EVENT_STREAM_HEADERS });
    } catch (error) {
      admitted?.drop();
      end();
      throw (await isClosed(service, session, error)) ? sessionClosed() : error;
    }
  });
}

/** Whether a message was not accepted since its session is closed, perhaps by another server. */
async function isClosed({ sessions }: SessionService, { id }: Session, error: unknown): Promise<boolean> {
  if (sessions.get(id) === undefined) return true;
  if (!(error instanceof SessionStoreError)) return false;
  return (await sessions.find(id).catch(() => "unknown")) === undefined;
}

function sessionClosed(): RequestRefusal {
  return conflict("closed", "the session is closed");
}

/** @throws {RequestRefusal} 400 if the calls cannot be read, or two of them have the same id. */
function callsOf({ calls, format, message }: NewMessage, session: Session): readonly ToolCall[] {
  if ((calls === undefined) === (message === undefined)) {
    throw badRequest("the body must have either calls, or a message with its format");
  }
  if (calls !== undefined && format !== undefined) throw badRequest("calls have no format");
  const read = calls ?? readMessage(message, format, session);
  if (new Set(read.map(({ id }) => id)).size < read.length) {
    throw badRequest("two calls of the message have the same id: an answer could be for either");
  }
  return read;
}

function readMessage(message: unknown, format: Format | undefined, session: Session): readonly ToolCall[] {
  if (format === undefined) throw badRequest("a message must have a format");
  try {
    return PROTOCOLS[format](session.registry).read(message).calls;
  } catch (error) {
    if (error instanceof ProtocolError) throw badRequest(`/message${error.pointer}: ${error.message}`);
    throw error;
  }
}

/** The ids of a message: those that the client chose, or new ones. */
type MessageIds = ReturnType<typeof messageIds>;

/**
 * @throws {RequestRefusal} 409 if the turn has another message with this id, or the session is being closed, and 410 if the
 *   turn was forgotten.
 */
async function accept(
  session: Session,
  calls: readonly ToolCall[],
  { turnId, messageId }: MessageIds,
  { userText, trace }: Pick<NewMessage, "userText"> & { readonly trace: TraceHeaders | undefined },
  admitted: AdmittedMessage,
): Promise<{ readonly turn: Turn; readonly accepted: AcceptedMessage }> {
  try {
    const turn = await turnOfMessage(session, turnId, userText);
    if (turn === undefined) throw sessionClosed();
    admitted.cancelWith(() => void turn.cancel());
    return { turn, accepted: await turn.accept(calls, { messageId, ...(trace && { trace }) }) };
  } catch (error) {
    if (error instanceof MessageConflictError) throw conflict("message_conflict", error.message);
    if (error instanceof ForgottenTurnError) throw forgotten();
    throw error;
  }
}

/** Takes in the bytes of a message. @throws {RequestRefusal} 409 or 429 if that is not possible. */
function admitMessage(
  service: SessionService,
  session: Session,
  { turnId, messageId }: MessageIds,
  bytes: number,
): AdmittedMessage {
  const admitted = service.retained.begin(placeOf(session, turnId), messageId, bytes);
  switch (admitted) {
    case "full":
      throw conflict(
        "turn_full",
        "the turn has too many messages, or too many bytes of them: begin another turn",
      );
    case "no-room":
      throw overloaded("the messages that have not ended take up all the room: retry later");
    default:
      return admitted;
  }
}

/** Sends the end of a message to the clients of the session, even if the connection is closed. */
async function follow(
  service: SessionService,
  turn: Turn,
  accepted: AcceptedMessage,
  admitted: AdmittedMessage,
): Promise<FinalEvent> {
  let bytes = 0;
  try {
    const ended = await service.endOf(turn, accepted);
    bytes = ended.data.length;
    return ended;
  } finally {
    admitted.end(bytes);
  }
}

/** Whether the client asks for a stream of events. */
function wantsEvents({ request }: Exchange): boolean {
  return (request.headers.accept ?? "").toLowerCase().includes(STREAM_MEDIA_TYPE);
}
