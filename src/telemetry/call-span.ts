import { type Attributes, type Context, context, type Span, SpanStatusCode } from "@opentelemetry/api";
import { beginning } from "../base/text.ts";
import type { TraceHeaders } from "../base/trace-headers.ts";
import type { ToolExecution } from "../engine/call/execution.ts";
import type { CallTrace, TracedDecision, TracedEnd } from "../engine/call/trace.ts";
import type { Redaction } from "../redaction/redaction.ts";
import { setDecision, setResult } from "./attributes.ts";
import { contentValue } from "./content.ts";
import type { Instruments } from "./instruments.ts";
import * as names from "./names.ts";
import { headersOf } from "./trace-context.ts";

/** The longest texts of failures, in UTF-16 code units. */
const MAX_TEXT_LENGTH = 4_096;

/** The severity of the logs data model. */
const WARN = 13;

/** The span of one call. */
export class CallSpan implements CallTrace {
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
    if (recordsArguments) {
      const shown = contentValue(execution.arguments, this.#redaction);
      this.#span.setAttribute(names.TOOL_CALL_ARGUMENTS, shown);
    }
    if (recordsResults && execution.success) {
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

function isStack(detail: string): boolean {
  return /\n\s+at /.test(detail);
}
