import type { ToolCall } from "../../engine/call/call.ts";
import type { RouteRefusal } from "../../executor/http/more-routes.ts";
import { PROTOCOLS } from "../../protocols/by-format.ts";
import type { Format } from "../../protocols/formats.ts";
import { ProtocolError } from "../../protocols/parsing/protocol-error.ts";
import { type KeptMessage, MessageConflictError } from "../../sessions/calls/kept-messages.ts";
import type { Session } from "../../sessions/session.ts";
import type { AcceptedMessage, Turn } from "../../sessions/turn.ts";
import { eventStream, type FinalEvent } from "../events/event-stream.ts";
import type { Exchange } from "../http/exchange.ts";
import { badRequest, conflict, forbidden, notFound, overloaded } from "../http/refusals.ts";
import type { SessionService } from "../service.ts";
import type { NewMessage } from "../shapes.ts";
import { EVENT_STREAM_HEADERS, wantsEvents } from "./events.ts";
import type { App } from "./session-app.ts";
import { formatOf } from "./sessions.ts";

/** Adds messages to turns, returns their results, and cancels them. */
export function turnRoutes(app: App, service: SessionService): void {
  app.post("/v1/sessions/:id/turns", async ({ env, req, json }) => {
    const session = service.session(env.client, req.param("id"));
    if (!env.client.owns(session)) throw forbidden("only the caller of a session can dispatch calls in it");
    service.refuseIfEnding();
    const message = await env.read<NewMessage>("NewMessage");
    // The session can be closed while the body arrives.
    if (service.sessions.get(session.id) === undefined) throw sessionClosed();
    const calls = callsOf(message, session);
    const room = wantsEvents(env) ? service.stream(env) : undefined;
    const log = service.logs.of(session.id);
    const after = log.last;
    const end = service.messages.begin(session.id);
    if (end === undefined) throw overloaded("too many messages of the session are under way");
    const { turn, accepted } = await accept(session, calls, message).catch((error: unknown) => {
      end();
      throw service.sessions.get(session.id) === undefined ? sessionClosed() : error;
    });
    const ended = follow(service, env, turn, accepted).finally(end);
    // If a result cannot be stored, the turn tells of it. Here it must not end the process.
    ended.catch(() => {});
    if (room === undefined) return json({ turnId: turn.id, messageId: accepted.id }, 202);
    const stream = eventStream({
      ...{ log, epoch: service.epoch, isCaller: !env.client.inspects(session) },
      ...{ after, first: [], last: ended },
      ...room,
    });
    return new Response(stream, { headers: EVENT_STREAM_HEADERS });
  });

  app.get("/v1/sessions/:id/turns/:turnId", async ({ env, req, json }) => {
    const session = service.session(env.client, req.param("id"));
    const turn = await session.findTurn(req.param("turnId"));
    if (turn === undefined) throw notFound();
    const format = formatOf(req.query("format"));
    const messages = await turn.messages();
    const isDone = messages.every(({ executions }) =>
      executions.every((execution) => execution !== undefined),
    );
    const body = { turnId: turn.id, messages: messages.map((message) => viewOf(message, session, format)) };
    return json(body, isDone ? 200 : 202);
  });

  app.post("/v1/sessions/:id/turns/:turnId/cancel", async ({ env, req, json }) => {
    const session = service.session(env.client, req.param("id"));
    const turn = await session.findTurn(req.param("turnId"));
    if (turn === undefined) throw notFound();
    if (!env.client.owns(session)) throw forbidden("only the caller of a session can cancel its turns");
    await turn.cancel();
    return json({ turnId: turn.id });
  });
}

function sessionClosed(): RouteRefusal {
  return conflict("closed", "the session is closed");
}

/** @throws {RouteRefusal} 400 if the calls cannot be read, or two of them have the same id. */
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

/** @throws {RouteRefusal} 409 if the session is being closed. */
async function turnOf(
  session: Session,
  { messageId, turnId = messageId, userText }: NewMessage,
): Promise<Turn> {
  const known = turnId === undefined ? undefined : await session.findTurn(turnId);
  if (known !== undefined) return known;
  try {
    return session.turn({
      ...(turnId !== undefined && { id: turnId }),
      ...(userText !== undefined && { userText }),
    });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // Another message has begun the turn while the store was asked.
    const begun = turnId === undefined ? undefined : await session.findTurn(turnId);
    if (begun === undefined) throw conflict("closed", error.message);
    return begun;
  }
}

/** @throws {RouteRefusal} 409 if the turn has another message with this id, or the session is being closed. */
async function accept(
  session: Session,
  calls: readonly ToolCall[],
  message: NewMessage,
): Promise<{ readonly turn: Turn; readonly accepted: AcceptedMessage }> {
  const turn = await turnOf(session, message);
  const { messageId } = message;
  try {
    return { turn, accepted: await turn.accept(calls, messageId === undefined ? {} : { messageId }) };
  } catch (error) {
    if (error instanceof MessageConflictError) throw conflict("message_conflict", error.message);
    throw error;
  }
}

/** Tells the end of a message to the clients of the session, whether or not the connection is still open. */
async function follow(
  service: SessionService,
  env: Exchange,
  turn: Turn,
  { id: messageId, results }: AcceptedMessage,
): Promise<FinalEvent> {
  const { id: sessionId } = turn.session;
  env.keepBody();
  try {
    const executions = await results;
    const type = "turn.ended";
    const data = JSON.stringify({ type, turnId: turn.id, messageId, executions });
    const number = service.tell(sessionId, { type, data });
    return { number, type, data };
  } finally {
    env.releaseBody();
  }
}

/** A message with the results that are there. */
function viewOf(
  { id: messageId, calls, executions }: KeptMessage,
  session: Session,
  format: Format | undefined,
): object {
  if (format === undefined)
    return { messageId, executions: executions.map((execution) => execution ?? null) };
  const ended = calls.flatMap((call, index) => {
    const execution = executions[index];
    return execution === undefined ? [] : [{ call, execution }];
  });
  const protocol = PROTOCOLS[format](session.registry);
  const results = protocol.toResults(
    ended.map(({ call }) => call),
    ended.map(({ execution }) => execution),
  );
  return { messageId, results };
}
