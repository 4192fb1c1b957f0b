import type { RefusedRequest } from "../executor/http/refused-request.ts";
import type { LogEntry } from "./log-entry.ts";

/** Returns the entry of a request that an executor refused. */
export function refusalEntry(refused: RefusedRequest): LogEntry {
  const { code, status, message, method, path, address, principal, call, detail } = refused;
  return {
    level: code === "internal_error" ? "error" : "warn",
    event: "request.refused",
    fields: {
      ...{ status, code, message, detail, method, path, address },
      principal: principal?.id,
      tool: call?.toolName,
      call: call?.callId,
      session: call?.sessionId,
    },
  };
}
