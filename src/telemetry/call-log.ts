import type { DispatchEvent, DispatchEventListener } from "../engine/call/events.ts";
import type { ToolExecution } from "../engine/call/execution.ts";
import type { ErrorCode } from "../engine/errors.ts";
import type { RefusedRequest } from "../http/refusals.ts";
import type { RefusedHandshake } from "../http/tls/tls-connections.ts";
import type { Redaction } from "../redaction/redaction.ts";
import type { McpNotice } from "../sandboxes/remote/mcp-client/notice.ts";
import { problemText } from "../schema/arguments.ts";
import type { LogLevel } from "../tool/streamed.ts";
import type { Log, LogEntry, LogFields } from "./log.ts";

/** The codes of warnings after which no call runs: as serious as a journal that cannot be written. */
const ERRORS: ReadonlySet<string> = new Set(["SANDGATE_SESSION_STORE_FAILED"]);

type WarningListener = (warning: Error) => void;

/** Writes the warnings of this process to a log, in place of Node.js, which prints them to standard error. */
export class LoggedWarnings implements Disposable {
  readonly #replaced: readonly WarningListener[] = process.listeners("warning");
  readonly #listener: WarningListener;

  constructor(log: Log) {
    this.#listener = (warning) => {
      const { name, message } = warning;
      const { code } = warning as NodeJS.ErrnoException;
      const level = code !== undefined && ERRORS.has(code) ? "error" : "warn";
      log.write({ level, event: "process.warning", fields: { name, code, message } });
    };
    process.removeAllListeners("warning");
    process.on("warning", this.#listener);
  }

  [Symbol.dispose](): void {
    process.off("warning", this.#listener);
    for (const listener of this.#replaced) process.on("warning", listener);
  }
}

const LEVELS = {
  connected: "info",
  ended: "warn",
  server_down: "error",
  problem: "warn",
  stderr: "info",
  log: "info",
} as const;

/** Returns a listener that writes the events of calls to a log. */
export function logCalls(log: Log): DispatchEventListener {
  return (event) => {
    const level = levelOf(event);
    // The digest of the arguments, for one, is not computed for an entry that is not written.
    if (!log.has(level)) return;
    const { type, at, sessionId, callId, toolName, principal } = event;
    const call = { tool: toolName, call: callId, session: sessionId, principal: principal?.id };
    log.write({ level, event: type, at, fields: { ...call, ...fieldsOf(event, log.redaction) } });
  };
}

function levelOf(event: DispatchEvent): LogLevel {
  if ("execution" in event && event.execution.receipt.recorded === false) return "error";
  switch (event.type) {
    case "tool.started":
    case "tool.output":
    case "tool.display":
      return "debug";
    case "tool.log":
      return event.level;
    case "tool.decided":
      return event.decision === "deny" ? "warn" : "info";
    case "tool.confirmation_requested":
    case "tool.confirmation_resolved":
    case "tool.completed":
      return "info";
    case "tool.failed":
      return event.level ?? FAILURE_LEVELS[event.execution.error?.code ?? "execution_error"];
    case "tool.aborted":
      return "warn";
  }
}

/** Errors are the failures that the operator has to fix. */
const FAILURE_LEVELS: Readonly<Record<ErrorCode, LogLevel>> = {
  not_found: "warn",
  validation_error: "warn",
  permission_denied: "warn",
  user_denied: "warn",
  confirmation_timeout: "warn",
  timeout: "warn",
  cancelled: "info",
  execution_error: "warn",
  sandbox_unavailable: "error",
  limit_exceeded: "warn",
  limit_unenforceable: "error",
};

function fieldsOf(event: DispatchEvent, redaction: Redaction): LogFields {
  switch (event.type) {
    case "tool.aborted":
      return {};
    case "tool.decided": {
      const { decision, rules, reason, near, policyRevision, confirmedBy, durationMs } = event;
      const nearMisses = near?.map(({ rule, missed }) => `'${rule}' but for ${missed}`);
      return { decision, rules, reason, near: nearMisses, policyRevision, confirmedBy, durationMs };
    }
    case "tool.confirmation_requested": {
      const { requestId, kind, sideEffects, missing, question, digest, expiresAt } = event;
      const about =
        event.kind === "question"
          ? { options: event.options, multiple: event.multiple }
          : { arguments: event.inputSummary };
      return {
        request: requestId,
        kind,
        sideEffects,
        ...about,
        missing,
        question,
        digest,
        expiresAt,
      };
    }
    case "tool.confirmation_resolved":
      return { request: event.requestId, decision: event.decision, by: event.by };
    case "tool.started": {
      const { grant, rules, sideEffects, canonical, policyRevision } = event;
      const [limits, capabilities] = [JSON.stringify(grant.limits), JSON.stringify(grant.capabilities)];
      const { text, digest: argumentDigest } = canonical.shownAs((value) => redaction.json(value));
      const { sandbox, isolation } = grant;
      const granted = { sandbox, isolation, limits, capabilities };
      return { sideEffects, rules, policyRevision, ...granted, arguments: text, argumentDigest };
    }
    case "tool.output":
      return { chunk: event.chunk };
    case "tool.display":
      return { format: event.format, source: event.source };
    case "tool.log":
      return { message: event.message };
    case "tool.completed":
      return { ...endOf(event.execution), rules: event.rules };
    case "tool.failed": {
      const { execution, rules, detail, problems, reference } = event;
      const { code, message, effect, limit } = execution.error ?? {};
      const failure = { code, message, detail, reference, effect, limit };
      return { ...failure, ...endOf(execution), rules, problems: problems?.map(problemText) };
    }
  }
}

function endOf({ sandbox, durationMs, receipt }: ToolExecution): LogFields {
  const { mayStillRun, ended, recorded, isolation } = receipt;
  return { sandbox: sandbox ?? undefined, isolation, durationMs, ended, mayStillRun, recorded };
}

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
 * Returns the entry of a TLS handshake that failed. Clients that disconnect during it are not worth a
 * warning: health checks that only connect do so each time.
 */
export function handshakeEntry({ code, message, address }: RefusedHandshake): LogEntry {
  const level = code === "ECONNRESET" ? "debug" : "warn";
  return { level, event: "handshake.refused", fields: { code, message, address } };
}

/** Makes an entry of the log of something about an MCP server: the event is `mcp.` and its kind, such as `mcp.server_down`. */
export function mcpEntry({ kind, server, message }: McpNotice): LogEntry {
  return { level: LEVELS[kind], event: `mcp.${kind}`, fields: { server, message } };
}
