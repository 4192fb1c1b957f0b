import { approverConfirmationView, inSession } from "../confirmation-views.ts";
import { ANSWER_LINK_PATH } from "../console/logins.ts";
import type { App } from "../http/exchange.ts";
import { isOwnOrigin } from "../http/origins.ts";
import { conflict, forbidden, gone, overloaded, unprocessable } from "../http/refusals.ts";
import type { SessionService } from "../service.ts";
import type { LinkAnswer } from "../shapes.ts";
import { consoleOf } from "./console.ts";

/** Shows what a link of a notification answers, and takes the answer in the name of its approver. */
export function answerLinkRoutes(app: App, service: SessionService): void {
  app.post(ANSWER_LINK_PATH, async ({ env, json }) => {
    const { wrongTokens } = consoleOf(service);
    const { headers, socket } = env.request;
    if (headers.origin === undefined || !isOwnOrigin(headers.origin, headers.host))
      throw forbidden("only the page of the console can use a link: the request must have its origin");
    const address = socket.remoteAddress ?? "";
    if (wrongTokens.isTooMany(address))
      throw overloaded("too many wrong links came from this address: retry in a minute");
    const { token, decision, reason } = await env.read<LinkAnswer>("LinkAnswer");
    const link = service.answerLinks?.find(token);
    if (link === undefined) {
      wrongTokens.add(address);
      throw gone();
    }
    const { inquiryId, sessionId, turnId, digest, approver: by } = link;
    const session = service.sessions.get(sessionId) ?? (await service.sessions.find(sessionId));
    const record = await service.sessions.inquiry(inquiryId);
    if (session === undefined || record === undefined || record.resolution !== undefined) throw gone();
    // The credentials may have been replaced since people were notified.
    if (!env.access.clients().approves(by, session))
      throw forbidden("the approver of this link may not answer for the session");
    if (decision === undefined) {
      const { toolName } = record.inquiry.shown;
      const tool = service.inspected.registry.find(toolName)?.tool;
      const view = inSession(approverConfirmationView(record, tool), session);
      return json({ ...view, choices: ["allow", "deny"], approver: by });
    }
    if (decision === "allow") service.refuseIfPaused();
    const given = { decision, digest, by, turnId, ...(reason !== undefined && { reason }) };
    const outcome = await session.answer(inquiryId, given);
    switch (outcome.outcome) {
      case "resolved":
        return json({ requestId: inquiryId, ...outcome.resolution });
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
