import type { ConfirmationRecord, Inquiry } from "../../sessions/confirmations/confirmation.ts";
import type { Session } from "../../sessions/session.ts";
import {
  approverConfirmationView,
  callerWholeConfirmationView,
  confirmationView,
  inSession,
  wholeConfirmationView,
} from "../confirmation-views.ts";
import type { App, Exchange } from "../http/exchange.ts";
import { conflict, gone, notFound, unprocessable } from "../http/refusals.ts";
import type { SessionService } from "../service.ts";
import type { Answer } from "../shapes.ts";

const PATH = "/v1/sessions/:id/turns/:turnId/confirmations/:requestId";

/** Lists confirmations, and takes the answers of approvers. */
export function confirmationRoutes(app: App, service: SessionService): void {
  app.get("/v1/confirmations", async ({ env, json }) => {
    const { client } = env;
    const { sessions } = service;
    const seen: object[] = [];
    for (const inquiry of sessions.openInquiries()) {
      const session = sessions.get(inquiry.sessionId) ?? (await sessions.find(inquiry.sessionId));
      if (session !== undefined && client.sees(session))
        seen.push(inSession(confirmationView(inquiry), session));
    }
    return json({ confirmations: seen });
  });

  app.get(PATH, async ({ env, req, json }) => {
    const { session, record } = await find(service, env, req.param());
    if (!env.client.inspects(session)) return json(callerWholeConfirmationView(record));
    const tool = service.inspected.registry.find(record.inquiry.shown.toolName)?.tool;
    const view = env.client.approves(session) ? approverConfirmationView : wholeConfirmationView;
    return json(inSession(view(record, tool), session));
  });

  app.post(PATH, async ({ env, req, json }) => {
    const { client } = env;
    const { session, record } = await find(service, env, req.param());
    const by = client.approver;
    const answer = await env.read<Answer>("Answer");
    // An answer is used once: it must not be spent on a call that would be denied now.
    // A call that asked a question is running already.
    if (answer.decision === "allow" || answer.decision === "always") service.refuseIfPaused();
    const { inquiry } = record;
    const { turnId } = inquiry;
    const outcome = await session.answer(inquiry.id, { ...answer, by, turnId, signal: env.revoked });
    switch (outcome.outcome) {
      case "resolved":
        return json({ requestId: inquiry.id, ...outcome.resolution });
      case "lost": {
        const { decision, by: winner, at } = outcome.resolution;
        throw conflict("already_answered", "another answer was first", { decision, by: winner, at });
      }
      case "gone":
        throw gone();
      case "unknown":
        throw notFound();
      case "other-digest":
        throw unprocessable("other_digest", "the digest is not that of the inquiry: read the inquiry again");
      case "invalid":
        throw unprocessable("invalid_answer", outcome.problem);
    }
  });
}

/** @throws {RouteRefusal} 404 unless the client may know about the confirmation. */
async function find(
  service: SessionService,
  { client }: Exchange,
  { id, turnId, requestId }: { readonly id: string; readonly turnId: string; readonly requestId: string },
): Promise<{ readonly session: Session; readonly record: ConfirmationRecord }> {
  const session = service.session(client, id);
  const record = await service.sessions.inquiry(requestId);
  if (record === undefined || !isIn(record.inquiry, id, turnId)) throw notFound();
  return { session, record };
}

function isIn(inquiry: Inquiry, sessionId: string, turnId: string): boolean {
  return inquiry.sessionId === sessionId && inquiry.turnId === turnId;
}

/** Lists and revokes what approvers had a session remember. */
export function approvalRoutes(app: App, service: SessionService): void {
  app.get("/v1/sessions/:id/approvals", async ({ env, req, json }) => {
    const session = service.session(env.client, req.param("id"));
    const approvals = await session.readApprovals();
    return json({ approvals: approvals.map(({ approval, used }) => ({ ...approval, used })) });
  });

  app.delete("/v1/sessions/:id/approvals", async ({ env, req, json }) => {
    const session = service.session(env.client, req.param("id"));
    const revoked: string[] = [];
    for (const { approval } of await session.readApprovals()) {
      if (await session.revokeApproval(approval.id)) revoked.push(approval.id);
    }
    return json({ revoked });
  });

  app.delete("/v1/sessions/:id/approvals/:approvalId", async ({ env, req, json }) => {
    const session = service.session(env.client, req.param("id"));
    const id = req.param("approvalId");
    if (!(await session.revokeApproval(id))) throw notFound();
    return json({ revoked: [id] });
  });
}
