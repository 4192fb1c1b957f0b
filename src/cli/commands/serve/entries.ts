import type { JournalNotice } from "../../../journal/options.ts";
import type { LogEntry, LogFields } from "../../../log/log-entry.ts";
import type { AdminEvent } from "../../../server/admin.ts";
import type { Tools } from "./load.ts";

export function noticeEntry({ kind, message }: JournalNotice): LogEntry {
  const level = kind === "healthy" ? "info" : kind === "unhealthy" || kind === "changed" ? "error" : "warn";
  return { level, event: `journal.${kind}`, fields: { message } };
}

export function adminEntry({ action, principal, policyRevision }: AdminEvent): LogEntry {
  const by = principal === undefined ? {} : { principal: principal.id };
  const fields = { ...by, ...(policyRevision !== undefined && { policyRevision }) };
  const event = action === "policy-replaced" ? "policy.replaced" : `server.${action}`;
  return { level: action === "paused" ? "warn" : "info", event, fields };
}

export function fieldsOf({ registry, policy }: Tools): LogFields {
  return { tools: registry.size, policyRevision: policy.revision };
}
