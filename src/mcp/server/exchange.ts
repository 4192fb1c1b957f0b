import type { LoggingLevel, ServerContext } from "@modelcontextprotocol/server";
import { beginning } from "../../base/text.ts";
import { readTraceHeaders, type TraceHeaders } from "../../base/trace-headers.ts";
import type { ToolExecution } from "../../engine/call/execution.ts";
import { canonicalText } from "../../json/canonical.ts";
import { copyJson } from "../../json/copy.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import { toLine } from "../../rendering/shown.ts";
import type { Session } from "../../sessions/session.ts";
import type { LogLevel } from "../../tool/streamed.ts";
import type { McpOffers } from "./mcp-offers.ts";
import type { McpServerOptions, Sdk } from "./options.ts";
import type { ClientCapabilities } from "./runs/input-requests.ts";
import type { InputResponses, OpenRequest, Run } from "./runs/run.ts";
import type { PendingRuns, Runs, RunWatch } from "./runs/runs.ts";

/** Maximum number of characters of one notification. */
const MAX_CHARS = 4_000;

/** Maximum number of notifications of one request: a client must not be flooded by a tool. */
const MAX_NOTIFICATIONS = 10_000;

const LEVELS: Readonly<Record<LogLevel, LoggingLevel>> = {
  debug: "debug",
  info: "info",
  warn: "warning",
  error: "error",
};

/** A call, as a request of a client makes it. */
export interface RequestedCall {
  /** The tool to be called. */
  readonly tool: string;
  readonly arguments: JsonValue;
}

/** What one server has in common for all its clients. */
export interface ServerParts {
  readonly sdk: Sdk;
  readonly options: McpServerOptions;
  readonly info: { readonly name: string; readonly version: string; readonly title?: string };
  readonly runs: Runs;
  readonly pending: PendingRuns;
  readonly offers: McpOffers;
}

/** What a client declared that it can do, in a request on the wire without sessions. */
export function declared(sdk: Sdk, { mcpReq }: ServerContext): ClientCapabilities {
  const envelope = mcpReq.envelope as Readonly<Record<string, JsonValue>> | undefined;
  return (envelope?.[sdk.CLIENT_CAPABILITIES_META_KEY] ?? {}) as ClientCapabilities;
}

/** The services for the requests of a client. */
export interface ExchangeParts {
  readonly sdk: Sdk;
  readonly runs: Runs;
  readonly pending: PendingRuns;
  readonly isModern: boolean;
  /** Whether lists have what the client can never call, too. */
  readonly listsAll: boolean;
  readonly session: () => Promise<Session>;
  /** What the client declared; on the wire without sessions, with this request. */
  readonly capabilities: (context: ServerContext) => ClientCapabilities;
}

/** The result for the client: the end of the call, or requests that it has to answer first. */
export type ExchangeResult =
  | { readonly execution: ToolExecution | null; readonly run: Run }
  | { readonly inputRequests: Record<string, JsonObject>; readonly requestState: string };

/** Cancelled forms count as declined. */
const CANCELLED: JsonObject = { action: "cancel" };
/** Milliseconds for which a client has a person answer. The confirmation, or the tool, ends earlier. */
const ANSWER_MS = 10 * 60_000;

/**
 * Runs the call of a request, and asks the client while it runs: on the wire with sessions by requests to the client, on the
 * other one by results that say what the client has to send with its next request.
 *
 * @throws an error of the SDK, as a rejection, for the client.
 */
export async function exchange(
  parts: ExchangeParts,
  call: RequestedCall,
  context: ServerContext,
): Promise<ExchangeResult> {
  const { runs, isModern } = parts;
  const { signal } = context.mcpReq;
  const session = await parts.session();
  // Most calls neither continue another request nor ask the client.
  const binding = (): string => canonicalText(copyJson([session.id, call.tool, call.arguments]));
  const principal = session.principal?.id ?? "";
  const run = takeOrStart(parts, call, context, { session, principal, binding });
  runs.watch(run, watchOf(context));
  const cancel = (): void => run.cancel();
  signal.addEventListener("abort", cancel, { once: true });
  try {
    if (signal.aborted) run.cancel();
    for (;;) {
      const step = await run.next();
      if (step.requests === undefined) {
        refuseMissing(parts, run, step.execution);
        return { execution: step.execution, run };
      }
      if (!isModern) await askAll(context, run, step.requests);
      else {
        const requestState = parts.pending.add(run, principal, binding());
        if (requestState !== undefined) return { inputRequests: inputRequests(step.requests), requestState };
      }
    }
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}

function takeOrStart(
  { sdk, runs, pending, capabilities, isModern }: ExchangeParts,
  call: RequestedCall,
  context: ServerContext,
  {
    session,
    principal,
    binding,
  }: { readonly session: Session; readonly principal: string; readonly binding: () => string },
): Run {
  const state = context.mcpReq.requestState<string>();
  const responses = (context.mcpReq.inputResponses ?? {}) as InputResponses;
  if (state === undefined) {
    return runs.start({
      session,
      name: call.tool,
      arguments: call.arguments,
      capabilities: capabilities(context),
      early: responses,
      watch: watchOf(context),
      trace: traceOf(context),
      isModern,
    });
  }
  const run = typeof state === "string" ? pending.take(state, principal, binding()) : undefined;
  if (run === undefined) {
    const message = "The requestState is not one that waits for this request: call again without it";
    throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, message, {
      reason: "invalid_request_state",
    });
  }
  run.supply(responses);
  return run;
}

/** @throws the error of MCP 2026-07-28 for a call that failed for want of a capability of the client. */
function refuseMissing({ sdk, isModern }: ExchangeParts, run: Run, execution: ToolExecution | null): void {
  if (!isModern || run.missing === undefined || execution?.success !== false) return;
  const requiredCapabilities = run.missing as object;
  throw new sdk.MissingRequiredClientCapabilityError({ requiredCapabilities });
}

function inputRequests(requests: ReadonlyMap<string, OpenRequest>): Record<string, JsonObject> {
  const entries = Array.from(requests, ([key, { request }]): [string, JsonObject] => [
    key,
    { method: request.method, params: request.params ?? {} },
  ]);
  return Object.fromEntries(entries);
}

/** Sends the requests to the client, and waits for what it answers to each. */
async function askAll(
  { mcpReq }: ServerContext,
  run: Run,
  requests: ReadonlyMap<string, OpenRequest>,
): Promise<void> {
  await Promise.all(
    Array.from(requests, async ([key, { request, signal }]) => {
      const { method, params = {} } = request;
      let response: JsonValue;
      try {
        const sent = await mcpReq.send(
          { method, params: params as Record<string, unknown> },
          { signal: AbortSignal.any([signal, mcpReq.signal]), timeout: ANSWER_MS },
        );
        response = copyJson(sent);
      } catch (error) {
        if (method !== "elicitation/create") run.fail(key, refusalText(method, error));
        response = CANCELLED;
      }
      run.supply({ [key]: isJsonObject(response) ? response : CANCELLED });
    }),
  );
}

function refusalText(method: string, error: unknown): string {
  return `the client did not answer ${method}: ${error instanceof Error ? error.message : "it failed"}`;
}

/** The trace that a client's request continues (MCP, `_meta`): it decides only where the call's span belongs. */
function traceOf({ mcpReq }: ServerContext): TraceHeaders | undefined {
  const { traceparent, tracestate } = (mcpReq._meta ?? {}) as JsonObject;
  return readTraceHeaders({
    traceparent: typeof traceparent === "string" ? traceparent : undefined,
    tracestate: typeof tracestate === "string" ? tracestate : undefined,
  });
}

/** Tells a client what happens to a call: progress if its request has a token for that, and logs if it wants them. */
function watchOf({ mcpReq }: ServerContext): RunWatch {
  const progressToken = mcpReq._meta?.progressToken;
  let progress = 0;
  let logs = 0;
  return {
    onOutput: (chunk) => {
      if (progressToken === undefined || progress >= MAX_NOTIFICATIONS) return;
      progress++;
      const params = { progressToken, progress, message: beginning(chunk, MAX_CHARS) };
      // The client may be gone.
      mcpReq.notify({ method: "notifications/progress", params }).catch(() => {});
    },
    onProgress: ({ progress: done, total, message }) => {
      if (progressToken === undefined || progress >= MAX_NOTIFICATIONS) return;
      progress++;
      const params = {
        progressToken,
        progress: done,
        ...(total !== undefined && { total }),
        ...(message !== undefined && { message: beginning(message, MAX_CHARS) }),
      };
      mcpReq.notify({ method: "notifications/progress", params }).catch(() => {});
    },
    onLog: (level, message) => {
      if (logs++ >= MAX_NOTIFICATIONS) return;
      const written = LEVELS[level as LogLevel] ?? "info";
      mcpReq.log(written, toLine(message, MAX_CHARS)).catch(() => {});
    },
  };
}
