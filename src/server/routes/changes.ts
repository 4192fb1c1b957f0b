import { digestOfAll } from "../../changes/pending.ts";
import { badRequest, conflict, notFound, unprocessable } from "../../http/refusals.ts";
import type { Session } from "../../sessions/session.ts";
import type { ShownChange } from "../../sessions/session-changes.ts";
import { ChangeDecision, SESSIONS, type StagedChange } from "../../shapes/sessions.ts";
import type { SessionService } from "../service.ts";
import { type App, serve } from "./serve.ts";

/** Maximum number of characters of differences in a list. Changes beyond it can be read one by one. */
const MAX_SHOWN_CHARS = 4_000_000;

/** Lists, accepts and rejects the staged changes of a session. */
export function changeRoutes(app: App, service: SessionService): void {
  serve(app, SESSIONS.listChanges, async ({ env, req, json }) => {
    const session = service.session(env.client, req.param("id"));
    const path = req.query("path");
    const changes = await session.changes.pending(path);
    if (path === undefined) return json({ digest: digestOfAll(changes), changes: listed(changes) });
    if (changes.length === 0) throw notFound();
    return json({ changes: changes.map((change) => ({ ...changeView(change), whole: change.diff })) });
  });

  serve(app, SESSIONS.decideOnChanges, async ({ env, req, json }) => {
    const session = service.session(env.client, req.param("id"));
    const by = env.client.approver;
    service.refuseIfEnding();
    const body = await env.read(ChangeDecision);
    return json(
      body.decision === "accept" ? await accept(session, body, by) : await reject(session, body, by),
    );
  });
}

async function accept(
  { changes }: Session,
  { path, digest }: ChangeDecision,
  by: string,
): Promise<{ readonly accepted: readonly string[] }> {
  if (digest === undefined) throw badRequest("accepting changes takes the digest of those that were shown");
  const options = { digest, by };
  const result = path === undefined ? await changes.acceptAll(options) : await changes.accept(path, options);
  if (result === undefined) throw notFound();
  const { accepted, conflicts } = result;
  if (conflicts.some(({ reason }) => reason === "not-shown")) {
    throw unprocessable("other_digest", "the changes are not those with this digest: read them again");
  }
  if (conflicts.length > 0) {
    throw conflict("changes_conflict", "nothing was accepted, as files have changed on the disk", {
      conflicts,
    });
  }
  return { accepted };
}

async function reject(
  { changes }: Session,
  { path }: ChangeDecision,
  by: string,
): Promise<{ readonly rejected: readonly string[] }> {
  const rejected = path === undefined ? await changes.rejectAll({ by }) : await changes.reject(path, { by });
  if (path !== undefined && rejected.length === 0) throw notFound();
  return { rejected };
}

function listed(changes: readonly ShownChange[]): readonly StagedChange[] {
  let left = MAX_SHOWN_CHARS;
  return changes.map((change) => {
    left -= change.shown.length;
    return left >= 0
      ? changeView(change)
      : { ...changeView(change), diff: "", missing: "not listed: read it by its path" };
  });
}

function changeView({
  path,
  change,
  shown: diff,
  missing,
  digest,
  conflict: reason,
}: ShownChange): StagedChange {
  return {
    path,
    change,
    diff,
    missing,
    digest,
    ...(reason !== undefined && reason !== "not-shown" && { conflict: reason }),
  };
}
