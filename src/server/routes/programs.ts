import type { WaitingCall } from "../../engine/call/suspension.ts";
import type { Inquiry } from "../../sessions/confirmations/confirmation.ts";
import type { App } from "../http/exchange.ts";
import type { SessionService } from "../service.ts";

/** Lists the programs that are suspended while they wait. */
export function programRoutes(app: App, { sessions }: SessionService): void {
  app.get("/v1/programs", async ({ env, json }) => {
    const { client } = env;
    const suspended = await sessions.suspendedCalls();
    const seen: WaitingCall[] = [];
    for (const call of suspended) {
      const session = await sessions.find(call.sessionId);
      if (session !== undefined && client.sees(session)) seen.push(call);
    }
    const inquiries = sessions.openInquiries();
    return json({ programs: seen.map((call) => programView(call, inquiries)) });
  });
}

/** A suspended program as it is listed, with the questions that its calls wait for. */
function programView(
  { sessionId, turnId, messageId, callId, principal, toolName, suspendedAt, waitUntil, open }: WaitingCall,
  inquiries: readonly Inquiry[],
): object {
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
      const asked = inquiries.find(
        (inquiry) =>
          inquiry.sessionId === sessionId &&
          inquiry.turnId === turnId &&
          inquiry.messageId === messageId &&
          inquiry.callId === nested,
      );
      return { callId: nested, toolName: tool, ...(asked && { requestId: asked.id }) };
    }),
  };
}
