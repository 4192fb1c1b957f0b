import { createTraceState, isSpanContextValid, type Span, type SpanContext } from "@opentelemetry/api";
import { readTraceParent, type TraceHeaders } from "../base/trace-headers.ts";

/** Returns the headers that continue the trace of a span; `undefined` if it belongs to none. */
export function headersOf(span: Span): TraceHeaders | undefined {
  const context = span.spanContext();
  if (!isSpanContextValid(context)) return undefined;
  const { traceId, spanId, traceFlags, traceState } = context;
  const traceparent = `00-${traceId}-${spanId}-${(traceFlags & 0xff).toString(16).padStart(2, "0")}`;
  const tracestate = traceState?.serialize();
  return tracestate ? { traceparent, tracestate } : { traceparent };
}

/** Returns the span that headers name; `undefined` if they name none. */
export function spanContextOf({ traceparent, tracestate }: TraceHeaders): SpanContext | undefined {
  const parent = readTraceParent(traceparent);
  if (parent === undefined) return undefined;
  return {
    ...parent,
    isRemote: true,
    ...(tracestate !== undefined && { traceState: createTraceState(tracestate) }),
  };
}
