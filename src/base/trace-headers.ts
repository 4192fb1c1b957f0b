/** Headers with which a request continues a trace (W3C Trace Context). They authorise nothing. */
export interface TraceHeaders {
  readonly traceparent: string;
  /** What tracing systems added. Absent if there is nothing. */
  readonly tracestate?: string;
}

/** Where a trace continues: the identifiers in a `traceparent`. */
export interface TraceParent {
  /** 32 lower-case hexadecimal digits. */
  readonly traceId: string;
  /** 16 lower-case hexadecimal digits. */
  readonly spanId: string;
  readonly traceFlags: number;
}

/** The longest `tracestate` that is passed on, which the recommendation allows to cut at 512 characters. */
const MAX_STATE_LENGTH = 512;

/** Versions after 00 may add members. Version ff, and identifiers of zeros, are invalid. */
const TRACEPARENT =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-[\x20-\x7e]{0,256})?$/;

/** Reads a `traceparent`. Returns `undefined` if it is not valid. */
export function readTraceParent(text: string): TraceParent | undefined {
  const [, version, traceId, spanId, flags = "", rest] = TRACEPARENT.exec(text) ?? [];
  if (traceId === undefined || spanId === undefined) return undefined;
  if (version === "00" && rest !== undefined) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) };
}

/** Reads the headers of a request. Returns `undefined` unless they continue a trace. */
export function readTraceHeaders(headers: {
  readonly [name: string]: string | readonly string[] | undefined;
}): TraceHeaders | undefined {
  const { traceparent, tracestate } = headers;
  // A request without a trace must cost nothing.
  if (typeof traceparent !== "string" || readTraceParent(traceparent) === undefined) return undefined;
  return typeof tracestate === "string" && tracestate !== "" && tracestate.length <= MAX_STATE_LENGTH
    ? { traceparent, tracestate }
    : { traceparent };
}
