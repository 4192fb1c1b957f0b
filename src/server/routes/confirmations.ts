import type { WaitingCall } from "../../engine/call/suspension.ts";
import type { Exchange } from "../../http/exchange.ts";
import { conflict, forbidden, gone, notFound, overloaded, unprocessable } from "../../http/refusals.ts";
import { isOwnOrigin } from "../../http/request.ts";
import type { Confirmation, ConfirmationRecord } from "../../sessions/confirmations/confirmation.ts";
import type { Session } from "../../sessions/session.ts";
import type { OpenConfirmation, SuspendedProgram } from "../../shapes/confirmations.ts";
import { Answer, CONFIRMATIONS, LinkAnswer } from "../../shapes/confirmations.ts";
import { SESSIONS } from "../../shapes/sessions.ts";
import {
  approverConfirmationView,
  callerWholeConfirmationView,
  confirmationView,
  inSession,
  wholeConfirmationView,
} from "../confirmation-views.ts";
import type { SessionService } from "../service.ts";
import { consoleOf } from "./console.ts";
import { type App, serve } from "./serve.ts";

/** Lists confirmations, and takes the answers of approvers. */
export function confirmationRoutes(app: App, service: SessionService): void {
  serve(app, CONFIRMATIONS.listConfirmations, async ({ env, json }) => {
    const { client } = env;
    const { sessions } = service;
    const seen: OpenConfirmation[] = [];
    for (const confirmation of sessions.openConfirmations()) {
      const session = sessions.get(confirmation.sessionId) ?? (await sessions.find(confirmation.sessionId));
      if (session !== undefined && client.sees(session))
        seen.push(inSession(confirmationView(confirmation), session));
    }
    return json({ confirmations: seen });
  });

  serve(app, CONFIRMATIONS.readConfirmation, async ({ env, req, json }) => {
    const { session, record } = await find(service, env, req.param());
    if (!env.client.inspects(session)) return json(callerWholeConfirmationView(record));
    const tool = service.inspected.registry.find(record.confirmation.shown.toolName)?.tool;
    const view = env.client.approves(session) ? approverConfirmationView : wholeConfirmationView;
    return json(inSession(view(record, tool), session));
  });

  serve(app, CONFIRMATIONS.answerConfirmation, async ({ env, req, json }) => {
    const { client } = env;
    const { session, record } = await find(service, env, req.param());
    const by = client.approver;
    const answer = await env.read(Answer);
    // An answer is used once: it must not be spent on a call that would be denied now.
    // A call that asked a question is running already.
    if (answer.decision === "allow" || answer.decision === "always") service.refuseIfPaused();
    const { confirmation } = record;
    const { turnId } = confirmation;
    const outcome = await session.answer(confirmation.id, { ...answer, by, turnId, signal: env.revoked });
    switch (outcome.outcome) {
      case "resolved":
        return json({ requestId: confirmation.id, ...outcome.resolution });
      case "lost": {
        const { decision, by: winner, at } = outcome.resolution;
        throw conflict("already_answered", "another answer was first", { decision, by: winner, at });
      }
      case "gone":
        throw gone();
      case "unknown":
        throw notFound();
      case "other-digest":
        throw unprocessable(
          "other_digest",
          "the digest is not that of the confirmation: read the confirmation again",
        );
      case "invalid":
        throw unprocessable("invalid_answer", outcome.problem);
    }
  });
}

/** @throws {RequestRefusal} 404 unless the client may know about the confirmation. */
async function find(
  service: SessionService,
  { client }: Exchange,
  { id, turnId, requestId }: { readonly id: string; readonly turnId: string; readonly requestId: string },
): Promise<{ readonly session: Session; readonly record: ConfirmationRecord }> {
  const session = service.session(client, id);
  const record = await service.sessions.confirmation(requestId);
  if (record === undefined || !isIn(record.confirmation, id, turnId)) throw notFound();
  return { session, record };
}

function isIn(confirmation: Confirmation, sessionId: string, turnId: string): boolean {
  return confirmation.sessionId === sessionId && confirmation.turnId === turnId;
}

/** Lists and revokes what approvers had a session remember. */
export function approvalRoutes(app: App, service: SessionService): void {
  serve(app, SESSIONS.listApprovals, async ({ env, req, json }) => {
    const session = service.session(env.client, req.param("id"));
    const approvals = await session.readApprovals();
    return json({ approvals: approvals.map(({ approval, used }) => ({ ...approval, used })) });
  });

  serve(app, SESSIONS.revokeApprovals, async ({ env, req, json }) => {
    const session = service.session(env.client, req.param("id"));
    const revoked: string[] = [];
    for (const { approval } of await session.readApprovals()) {
      if (await session.revokeApproval(approval.id)) revoked.push(approval.id);
    }
    return json({ revoked });
  });

  serve(app, SESSIONS.revokeApproval, async ({ env, req, json }) => {
    const session = service.session(env.client, req.param("id"));
    const id = req.param("approvalId");
    if (!(await session.revokeApproval(id))) throw notFound();
    return json({ revoked: [id] });
  });
}

/** Shows what a link of a notification answers, and takes the answer in the name of its approver. */
export function answerLinkRoutes(app: App, service: SessionService): void {
  serve(app, CONFIRMATIONS.useAnswerLink, async ({ env, json }) => {
    const { wrongTokens } = consoleOf(service);
    const { headers, socket } = env.request;
    if (headers.origin === undefined || !isOwnOrigin(headers.origin, headers.host))
      throw forbidden("only the page of the console can use a link: the request must have its origin");
    const address = socket.remoteAddress ?? "";
    if (wrongTokens.isTooMany(address))
      throw overloaded("too many wrong links came from this address: retry in a minute");
    const { token, decision, reason } = await env.read(LinkAnswer);
    const link = service.answerLinks?.find(token);
    if (link === undefined) {
      wrongTokens.add(address);
      throw gone();
    }
    const { confirmationId, sessionId, turnId, digest, approver: by } = link;
    const session = service.sessions.get(sessionId) ?? (await service.sessions.find(sessionId));
    const record = await service.sessions.confirmation(confirmationId);
    if (session === undefined || record === undefined || record.resolution !== undefined) throw gone();
    // The credentials may have been replaced since people were notified.
    if (env.door.clients?.approves(by, session) !== true)
      throw forbidden("the approver of this link may not answer for the session");
    if (decision === undefined) {
      const { toolName } = record.confirmation.shown;
      const tool = service.inspected.registry.find(toolName)?.tool;
      const view = inSession(approverConfirmationView(record, tool), session);
      return json({ ...view, choices: ["allow", "deny"], approver: by });
    }
    if (decision === "allow") service.refuseIfPaused();
    const given = { decision, digest, by, turnId, ...(reason !== undefined && { reason }) };
    const outcome = await session.answer(confirmationId, given);
    switch (outcome.outcome) {
      case "resolved":
        return json({ requestId: confirmationId, ...outcome.resolution });
      case "lost": {
        const { decision: first, by: winner, at } = outcome.resolution;
        throw conflict("already_answered", "another answer was first", { decision: first, by: winner, at });
      }
      case "invalid":
        throw unprocessable("invalid_answer", outcome.problem);
      default:
        throw gone();
    }
  });
}

/** Lists the programs that are suspended while they wait. */
export function programRoutes(app: App, { sessions }: SessionService): void {
  serve(app, CONFIRMATIONS.listPrograms, async ({ env, json }) => {
    const { client } = env;
    const suspended = await sessions.suspendedCalls();
    const seen: WaitingCall[] = [];
    for (const call of suspended) {
      const session = await sessions.find(call.sessionId);
      if (session !== undefined && client.sees(session)) seen.push(call);
    }
    const confirmations = sessions.openConfirmations();
    return json({ programs: seen.map((call) => programView(call, confirmations)) });
  });
}

/** A suspended program as it is listed, with the questions that its calls wait for. */
function programView(
  { sessionId, turnId, messageId, callId, principal, toolName, suspendedAt, waitUntil, open }: WaitingCall,
  confirmations: readonly Confirmation[],
): SuspendedProgram {
  return {
    sessionId,
    turnId,
    messageId,
    callId,
    toolName,
    suspendedAt,
    waitUntil,
    ...(principal !== undefined && { principal }),
    leftMs: Math.max(waitUntil - Date.now(), 0),
    open: open.map(({ number, toolName: tool }) => {
      const nested = `${callId}/${number}`;
      const asked = confirmations.find(
        (confirmation) =>
          confirmation.sessionId === sessionId &&
          confirmation.turnId === turnId &&
          confirmation.messageId === messageId &&
          confirmation.callId === nested,
      );
      return { callId: nested, toolName: tool, ...(asked && { requestId: asked.id }) };
    }),
  };
}
