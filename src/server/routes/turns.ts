import type { Exchange } from "../../http/exchange.ts";
import { forgotten, notFound } from "../../http/refusals.ts";
import { PROTOCOLS } from "../../protocols/by-format.ts";
import type { Format } from "../../protocols/formats.ts";
import { JSON_MEDIA_TYPE } from "../../remote-protocol/http.ts";
import type { StoredMessage } from "../../sessions/calls/stored-messages.ts";
import type { Session } from "../../sessions/session.ts";
import type { Turn } from "../../sessions/turn.ts";
import { TURNS, type TurnResults } from "../../shapes/turns.ts";
import type { SessionService } from "../service.ts";
import { type App, serve } from "./serve.ts";
import { formatOf } from "./sessions.ts";

/** Maximum number of characters of the results in a response, unless one message alone has more. */
const PAGE_CHARS = 4 * 1_024 * 1_024;

/** Returns the results of turns, and cancels them. */
export function turnRoutes(app: App, service: SessionService): void {
  serve(app, TURNS.readTurn, async ({ env, req }) => {
    const found = await find(service, env, req.param());
    const format = formatOf(req.query("format"));
    const { session } = found;
    const turn = remembered(found.turn);
    const after = req.query("after");
    const messages = await turn.messagesAfter(after);
    if (messages === undefined) throw notFound();
    const views: string[] = [];
    let chars = 0;
    let last: string | undefined;
    let next: string | undefined;
    let isDone = true;
    for await (const message of messages) {
      const view = JSON.stringify(viewOf(message, session, format));
      if (views.length > 0 && chars + view.length > PAGE_CHARS) {
        next = last;
        break;
      }
      chars += view.length;
      views.push(view);
      last = message.id;
      isDone &&= message.executions.every((execution) => execution !== undefined);
    }
    // The messages of a session that is being closed are gone before the session is: an empty list would say that all calls ended.
    if (last === undefined && after === undefined) throw notFound();
    const more = next === undefined ? "" : `,"next":${JSON.stringify(next)}`;
    const text = `{"turnId":${JSON.stringify(turn.id)},"messages":[${views.join()}]${more}}`;
    return new Response(text, { status: isDone ? 200 : 202, headers: { "content-type": JSON_MEDIA_TYPE } });
  });

  serve(app, TURNS.cancelTurn, async ({ env, req, json }) => {
    const { turn } = await find(service, env, req.param());
    await remembered(turn).cancel();
    return json({ turnId: req.param("turnId") });
  });
}

/**
 * Returns a turn, which is `undefined` if it was forgotten.
 *
 * @throws {RequestRefusal} 404 unless the client may know about the turn.
 */
async function find(
  service: SessionService,
  { client }: Exchange,
  { id, turnId }: { readonly id: string; readonly turnId: string },
): Promise<{ readonly session: Session; readonly turn: Turn | undefined }> {
  const session = service.session(client, id);
  const turn = await session.findTurn(turnId);
  if (turn === undefined && !(await session.isForgotten(turnId))) throw notFound();
  return { session, turn };
}

/** @throws {RequestRefusal} 410 if the turn was forgotten. */
function remembered(turn: Turn | undefined): Turn {
  if (turn === undefined) throw forgotten();
  return turn;
}

/** A message with the results that are there. */
function viewOf(
  { id: messageId, calls, executions }: StoredMessage,
  session: Session,
  format: Format | undefined,
): TurnResults["messages"][number] {
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
