import type { ServerResponse } from "node:http";
import { MAX_DELAY_MS } from "../../base/timers/deadline-timer.ts";
import type { Exchange } from "./exchange.ts";

/** The method of MCP 2026-07-28 whose response lasts. The header has the method of the message, or the request is refused. */
const LISTEN_METHOD = "subscriptions/listen";

/** Ends the streams and unread bodies of a login with it. */
export function endWithLogin(exchange: Exchange, ended: AbortSignal): void {
  const revoke = (): void => exchange.revoke();
  ended.addEventListener("abort", revoke, { once: true });
  exchange.closed.addEventListener("abort", () => ended.removeEventListener("abort", revoke), { once: true });
}

/**
 * Ends a stream that would last, and not the response to a call, when its credential is revoked or expires: the client has to
 * begin another one, with a new credential.
 */
export function endWithCredential(exchange: Exchange, response: ServerResponse): void {
  const { request, sender, revoked, closed } = exchange;
  const { method, headers } = request;
  if (method !== "GET" && headers["mcp-method"] !== LISTEN_METHOD) return;
  revoked.addEventListener("abort", () => response.end(), { once: true });
  if (sender.expiresAt === undefined) return;
  const delay = Math.min(Math.max(sender.expiresAt - Date.now(), 0), MAX_DELAY_MS);
  const timer = setTimeout(() => exchange.revoke(), delay);
  closed.addEventListener("abort", () => clearTimeout(timer), { once: true });
}
