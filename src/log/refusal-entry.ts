import type { RefusedRequest } from "../executor/http/refused-request.ts";
import type { RefusedHandshake } from "../executor/tls/tls-connections.ts";
import type { LogEntry } from "./log-entry.ts";

/** Returns the entry of a request that an executor refused. */
export function refusalEntry(refused: RefusedRequest): LogEntry {
  const { code, status, message, method, path, address, principal, call, detail } = refused;
  return {
    level: code === "internal_error" ? "error" : "warn",
    event: "request.refused",
    fields: {
      status,
      code,
      message,
      detail,
      method,
      path,
      address,
      principal: principal?.id,
      tool: call?.toolName,
      call: call?.callId,
      session: call?.sessionId,
    },
  };
}

/**
 * Returns the entry of a TLS handshake that failed. Clients that leave during it are no news: health checks that only connect
 * do so each time.
 */
export function handshakeEntry({ code, message, address }: RefusedHandshake): LogEntry {
  const level = code === "ECONNRESET" ? "debug" : "warn";
  return { level, event: "handshake.refused", fields: { code, message, address } };
}
