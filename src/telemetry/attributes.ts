import type { Span } from "@opentelemetry/api";
import type { ToolExecution } from "../engine/call/execution.ts";
import type { TracedDecision } from "../engine/call/trace.ts";
import type { LimitName } from "../policy/grant/limits.ts";
import type { Redaction } from "../redaction/redaction.ts";
import type { ResourceUse } from "../sandboxes/contract/outcome.ts";

/** The attributes of the limits that were enforced. */
const ENFORCED: Readonly<Record<LimitName, string>> = {
  wallTimeMs: "sandgate.receipt.enforced.wall_time_ms",
  cpuMs: "sandgate.receipt.enforced.cpu_ms",
  memoryBytes: "sandgate.receipt.enforced.memory_bytes",
  outputBytes: "sandgate.receipt.enforced.output_bytes",
  stackBytes: "sandgate.receipt.enforced.stack_bytes",
  logLines: "sandgate.receipt.enforced.log_lines",
  nestedCalls: "sandgate.receipt.enforced.nested_calls",
  fileBytes: "sandgate.receipt.enforced.file_bytes",
  netBytes: "sandgate.receipt.enforced.net_bytes",
  processes: "sandgate.receipt.enforced.processes",
  processMemoryBytes: "sandgate.receipt.enforced.process_memory_bytes",
  waitTimeMs: "sandgate.receipt.enforced.wait_time_ms",
};

/** The attributes of what the call used. The connections have none: there can be any number of them. */
const USED: Readonly<Record<Exclude<keyof ResourceUse, "contacted">, string>> = {
  wallTimeMs: "sandgate.receipt.used.wall_time_ms",
  waitedMs: "sandgate.receipt.used.waited_ms",
  outputBytes: "sandgate.receipt.used.output_bytes",
  memoryBytes: "sandgate.receipt.used.memory_bytes",
  logLines: "sandgate.receipt.used.log_lines",
  nestedCalls: "sandgate.receipt.used.nested_calls",
  fileBytes: "sandgate.receipt.used.file_bytes",
  bytesUp: "sandgate.receipt.used.bytes_up",
  bytesDown: "sandgate.receipt.used.bytes_down",
  attempts: "sandgate.receipt.used.attempts",
  instance: "sandgate.receipt.used.instance",
  engine: "sandgate.receipt.used.engine",
};

/** Sets the attributes of a policy's decision on the call. */
export function setDecision(span: Span, decided: TracedDecision, redaction: Redaction): void {
  const { decision, rules, reason, near, policyRevision, durationMs } = decided;
  span.setAttribute("sandgate.policy.decision", decision);
  span.setAttribute("sandgate.policy.duration", durationMs / 1_000);
  if (rules.length > 0) span.setAttribute("sandgate.policy.rules", [...rules]);
  if (reason !== undefined) span.setAttribute("sandgate.policy.reason", redaction.text(reason));
  if (near !== undefined && near.length > 0) {
    const missed = near.map((miss) => `${miss.rule}: ${miss.missed}`);
    span.setAttribute("sandgate.policy.near", missed);
  }
  if (policyRevision !== undefined) span.setAttribute("sandgate.policy.revision", policyRevision);
}

/** Sets the attributes of how the call was confirmed, where it ran, and what its receipt says. */
export function setResult(span: Span, { sandbox, error, confirmation, receipt }: ToolExecution): void {
  if (sandbox !== null) span.setAttribute("sandgate.sandbox", sandbox);
  if (error !== undefined) {
    span.setAttribute("sandgate.effect", error.effect);
    if (error.limit !== undefined) span.setAttribute("sandgate.limit", error.limit);
  }
  if (confirmation !== undefined) {
    span.setAttribute("sandgate.confirmation.by", confirmation.by);
    span.setAttribute("sandgate.confirmation.edited", confirmation.editedDigest !== undefined);
  }
  const { enforced, used, mayStillRun, ended, recorded, isolation } = receipt;
  setFigures(span, enforced, ENFORCED);
  setFigures(span, used, USED);
  if (mayStillRun !== undefined) span.setAttribute("sandgate.receipt.may_still_run", mayStillRun);
  if (ended !== undefined) span.setAttribute("sandgate.receipt.ended", ended);
  if (isolation !== undefined) span.setAttribute("sandgate.receipt.isolation", isolation);
  if (recorded !== undefined) span.setAttribute("sandgate.receipt.recorded", recorded);
}

/** Sets an attribute for each figure that has a name. */
function setFigures<Name extends string>(
  span: Span,
  figures: { readonly [Figure in Name]?: number | string },
  names: Readonly<Record<Name, string>>,
): void {
  for (const figure in figures) {
    const name = names[figure];
    const value = figures[figure];
    if (name !== undefined && value !== undefined) span.setAttribute(name, value);
  }
}
