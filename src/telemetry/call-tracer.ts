import {
  type AnyValue,
  type Attributes,
  type Context,
  context,
  createTraceState,
  isSpanContextValid,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { beginning } from "../base/text.ts";
import { readTraceParent, type TraceHeaders } from "../base/trace-headers.ts";
import type { CallTrace, CallTracer, TracedCall, TracedDecision, TracedEnd } from "../engine/call/events.ts";
import type { ToolExecution } from "../engine/call/execution.ts";
import { CanonicalJson } from "../json/canonical.ts";
import type { JsonValue } from "../json/value.ts";
import type { LimitName } from "../policy/grant/limits.ts";
import type { Redaction } from "../redaction/redaction.ts";
import type { ResourceUse } from "../sandboxes/contract/outcome.ts";
import * as names from "./instruments.ts";
import { HAS_LOGS, type Instruments, openInstruments, type TelemetryOptions } from "./instruments.ts";

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

/** The longest content of an attribute, as JSON text in UTF-16 code units. */
const MAX_CONTENT_LENGTH = 16_384;

/** The longest texts of failures, in UTF-16 code units. */
const MAX_TEXT_LENGTH = 4_096;

/** The severity of the logs data model. */
const WARN = 13;

/** The span of one call. */
class CallSpan implements CallTrace {
  /** The context with the span. */
  readonly context: Context;
  readonly #span: Span;
  readonly #metricName: string;
  readonly #redaction: Redaction;
  readonly #instruments: Instruments;
  readonly #startedAt: number = performance.now();
  #decision: TracedDecision | undefined;

  /** @param metricName The tool's name in the metric. */
  constructor(span: Span, own: Context, metricName: string, redaction: Redaction, instruments: Instruments) {
    this.#span = span;
    this.context = own;
    this.#metricName = metricName;
    this.#redaction = redaction;
    this.#instruments = instruments;
  }

  decided(decision: TracedDecision): void {
    this.#decision = decision;
  }

  run<Result>(work: () => Result): Result {
    return context.with(this.context, work);
  }

  headers(): TraceHeaders | undefined {
    return headersOf(this.#span);
  }

  ended(end: TracedEnd): void {
    try {
      this.#describe(end);
    } finally {
      // A span that does not end is not exported.
      this.#span.end();
    }
  }

  #describe({ execution, detail, reference }: TracedEnd): void {
    const span = this.#span;
    const errorType = execution === null ? names.ABORTED : execution.error?.code;
    this.#recordDuration(execution?.durationMs ?? performance.now() - this.#startedAt, errorType);
    if (errorType !== undefined) span.setAttribute(names.ERROR_TYPE, errorType);
    if (execution?.error !== undefined) this.#recordException(execution.error.message, detail, reference);
    else if (execution === null) span.setStatus({ code: SpanStatusCode.ERROR });
    if (!span.isRecording()) return;
    if (this.#decision !== undefined) setDecision(span, this.#decision, this.#redaction);
    if (execution !== null) this.#setExecution(execution);
  }

  #recordDuration(durationMs: number, errorType: string | undefined): void {
    const attributes: Attributes = {
      [names.TOOL_NAME]: this.#metricName,
      [names.TOOL_TYPE]: names.FUNCTION_TYPE,
    };
    if (errorType !== undefined) attributes[names.ERROR_TYPE] = errorType;
    this.#instruments.duration.record(durationMs / 1_000, attributes, this.context);
  }

  #setExecution(execution: ToolExecution): void {
    const { recordsArguments, recordsResults } = this.#instruments;
    setResult(this.#span, execution);
    if (recordsArguments === "digest")
      this.#span.setAttribute("sandgate.arguments.digest", digestOf(execution.arguments));
    else if (recordsArguments === true) {
      const shown = contentValue(execution.arguments, this.#redaction);
      this.#span.setAttribute(names.TOOL_CALL_ARGUMENTS, shown);
    }
    if (!execution.success) return;
    if (recordsResults === "digest")
      this.#span.setAttribute("sandgate.result.digest", digestOf(execution.output));
    else if (recordsResults === true) {
      this.#span.setAttribute(names.TOOL_CALL_RESULT, contentValue(execution.output, this.#redaction));
    }
  }

  /** Records why a call failed: as a log record, or if these are not enabled, as an event of the span. */
  #recordException(message: string, detail: string | undefined, reference: string | undefined): void {
    const shown = this.#text(message);
    const attributes: Attributes = { [names.EXCEPTION_MESSAGE]: shown };
    if (detail !== undefined) {
      attributes[isStack(detail) ? names.EXCEPTION_STACKTRACE : "sandgate.error.detail"] = this.#text(detail);
    }
    if (reference !== undefined) attributes["sandgate.error.reference"] = reference;
    this.#span.setStatus({ code: SpanStatusCode.ERROR, message: shown });
    const { logger } = this.#instruments;
    const event = { eventName: names.EXCEPTION_EVENT, severityNumber: WARN, context: this.context };
    if (logger?.enabled(event)) logger.emit({ ...event, severityText: "WARN", attributes });
    else this.#span.addEvent(names.EXCEPTION_EVENT, attributes);
  }

  #text(text: string): string {
    // Redacted as a whole: a secret that is cut would not be found.
    return beginning(this.#redaction.text(text), MAX_TEXT_LENGTH);
  }
}

/** The longest names and ids of calls in spans, in UTF-16 code units: the model chooses them. */
const MAX_NAME_LENGTH = 128;
const MAX_DESCRIPTION_LENGTH = 4_096;

/** Writes a span for every call. Spans of nested calls are children of those of the calls that make them. */
class SpanTracer implements CallTracer {
  readonly #instruments: Instruments;
  readonly #parent: Context | undefined;

  /** @param parent What the spans belong to. Default: what is active when a call arrives. */
  constructor(instruments: Instruments, parent?: Context) {
    this.#instruments = instruments;
    this.#parent = parent;
  }

  begin(call: TracedCall): CallTrace {
    const { callId, sessionId, description, parent, redaction = this.#instruments.redaction } = call;
    const toolName = beginning(call.toolName, MAX_NAME_LENGTH);
    const attributes: Attributes = {
      [names.OPERATION_NAME]: names.OPERATION,
      [names.TOOL_NAME]: toolName,
      [names.TOOL_TYPE]: names.FUNCTION_TYPE,
      [names.TOOL_CALL_ID]: beginning(callId, MAX_NAME_LENGTH),
      [names.CONVERSATION_ID]: sessionId,
    };
    if (description) attributes[names.TOOL_DESCRIPTION] = beginning(description, MAX_DESCRIPTION_LENGTH);
    const above = parent instanceof CallSpan ? parent.context : (this.#parent ?? context.active());
    const span = this.#instruments.tracer.startSpan(
      `${names.OPERATION} ${toolName}`,
      { kind: SpanKind.INTERNAL, attributes },
      above,
    );
    // A model can invent any number of names, and each would be a time series.
    const metricName = description === undefined ? names.OTHER : toolName;
    return new CallSpan(span, trace.setSpan(above, span), metricName, redaction, this.#instruments);
  }

  continue(headers: TraceHeaders): CallTracer {
    const parent = spanContextOf(headers);
    return parent === undefined
      ? this
      : new SpanTracer(this.#instruments, trace.setSpanContext(context.active(), parent));
  }
}

/**
 * Creates a tracer for `DispatchContext.tracer`, or for the options of `startExecutor`, whose calls then continue the
 * traces of their clients. It writes a span for every call, and the histogram `gen_ai.execute_tool.duration`.
 */
export function callTracer(options: TelemetryOptions = {}): CallTracer {
  return new SpanTracer(openInstruments(options));
}

function isStack(detail: string): boolean {
  return /\n\s+at /.test(detail);
}

/**
 * Returns a value without its secrets for an attribute. Of one that is too long, it is the beginning of its JSON text; with an API
 * without structured attributes, the whole text.
 */
function contentValue(value: JsonValue, redaction: Redaction): AnyValue {
  const shown = redaction.json(value);
  const text = JSON.stringify(shown);
  if (text.length > MAX_CONTENT_LENGTH) return `${beginning(text, MAX_CONTENT_LENGTH)}…`;
  return HAS_LOGS || typeof shown === "string" ? (shown as AnyValue) : text;
}

function digestOf(value: JsonValue): string {
  return new CanonicalJson(value).digest;
}

/** Sets the attributes of a policy's decision on the call. */
function setDecision(span: Span, decided: TracedDecision, redaction: Redaction): void {
  const { decision, rules, reason, near, policyRevision, durationMs } = decided;
  span.setAttribute("sandgate.policy.decision", decision);
  span.setAttribute("sandgate.policy.duration", durationMs / 1_000);
  if (rules.length > 0) span.setAttribute("sandgate.policy.rules", [...rules]);
  if (reason !== undefined) span.setAttribute("sandgate.policy.reason", redaction.text(reason));
  if (near !== undefined && near.length > 0) {
    const missed = near.map(({ rule, missed: unmet }) => `${rule}: ${unmet}`);
    span.setAttribute("sandgate.policy.near", missed);
  }
  if (policyRevision !== undefined) span.setAttribute("sandgate.policy.revision", policyRevision);
}

/** Sets the attributes of how the call was confirmed, where it ran, and what its receipt says. */
function setResult(span: Span, { sandbox, error, confirmation, receipt }: ToolExecution): void {
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

/** Returns the headers that continue the trace of a span; `undefined` if it belongs to none. */
function headersOf(span: Span): TraceHeaders | undefined {
  const context = span.spanContext();
  if (!isSpanContextValid(context)) return undefined;
  const { traceId, spanId, traceFlags, traceState } = context;
  const traceparent = `00-${traceId}-${spanId}-${(traceFlags & 0xff).toString(16).padStart(2, "0")}`;
  const tracestate = traceState?.serialize();
  return tracestate ? { traceparent, tracestate } : { traceparent };
}

/** Returns the span that headers name; `undefined` if they name none. */
function spanContextOf({ traceparent, tracestate }: TraceHeaders): SpanContext | undefined {
  const parent = readTraceParent(traceparent);
  if (parent === undefined) return undefined;
  return {
    ...parent,
    isRemote: true,
    ...(tracestate !== undefined && { traceState: createTraceState(tracestate) }),
  };
}
