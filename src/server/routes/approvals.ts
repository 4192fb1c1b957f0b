import { notFound } from "../http/refusals.ts";
import type { SessionService } from "../service.ts";
import type { App } from "./session-app.ts";

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
