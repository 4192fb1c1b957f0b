import { type Attributes, type Context, context, SpanKind, trace } from "@opentelemetry/api";
import { beginning } from "../base/text.ts";
import type { TraceHeaders } from "../base/trace-headers.ts";
import type { CallTrace, CallTracer, TracedCall } from "../engine/call/trace.ts";
import { CallSpan, spanContextOf } from "./call-span.ts";
import { type Instruments, openInstruments, type TelemetryOptions } from "./instruments.ts";
import * as names from "./names.ts";

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
