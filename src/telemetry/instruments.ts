import type { Attributes, Context, Histogram, Meter, Tracer } from "@opentelemetry/api";
import * as api from "@opentelemetry/api";
import { type OptionNames, refuseUnknown } from "../base/unknown-names.ts";
import { Redaction } from "../redaction/redaction.ts";
import { DURATION_BUCKETS, DURATION_METRIC } from "./names.ts";

const NAMES: OptionNames<TelemetryOptions> = {
  tracer: true,
  meter: true,
  logger: true,
  recordArguments: true,
  recordResults: true,
  redaction: true,
};

/** The name of the instrumentation scope. */
const SCOPE = "sandgate";

/** Whether the API has logs and structured attributes: 1.10, with SDK 3. With 1.9, which SDK 2 needs, it has neither. */
export const HAS_LOGS: boolean = "logs" in api;

/** What an exception is written as. */
export interface ExceptionRecord {
  readonly eventName: string;
  /** As in the logs data model: 13 is `WARN`. */
  readonly severityNumber: number;
  readonly severityText: string;
  readonly context: Context;
  readonly attributes: Attributes;
}

/** A logger of `@opentelemetry/api` 1.10 or of `@opentelemetry/api-logs`. */
interface ExceptionLogger {
  enabled(record: Pick<ExceptionRecord, "eventName" | "severityNumber" | "context">): boolean;
  emit(record: ExceptionRecord): void;
}

/** Options of `instrument` and `callTracer`. */
export interface TelemetryOptions {
  /** Starts the spans. Default: the tracer `sandgate` of the global provider. */
  readonly tracer?: Tracer;
  /** Has the histogram of durations. Default: the meter `sandgate` of the global provider. */
  readonly meter?: Meter;
  /** Writes exceptions as log records. If it is not enabled, they are events of the span. Default: as with `tracer`; with version 1.9 of the API, none. */
  readonly logger?: ExceptionLogger;
  /** Whether spans have the arguments of calls, redacted, or the SHA-256 digest of their canonical JSON. Default: `false`. */
  readonly recordArguments?: boolean | "digest";
  /** Whether spans have the outputs of successful calls, redacted, or the SHA-256 digest of their canonical JSON. Default: `false`. */
  readonly recordResults?: boolean | "digest";
  /** Redacts calls whose context has no `redaction`. Default: `new Redaction()`. */
  readonly redaction?: Redaction;
}

/** What spans of calls are made with. */
export interface Instruments {
  readonly tracer: Tracer;
  readonly duration: Histogram;
  readonly logger: ExceptionLogger | undefined;
  readonly recordsArguments: boolean | "digest";
  readonly recordsResults: boolean | "digest";
  readonly redaction: Redaction;
}

/** Completes options. */
export function openInstruments(options: TelemetryOptions): Instruments {
  refuseUnknown(options, NAMES, "telemetry");
  const meter = options.meter ?? api.metrics.getMeter(SCOPE);
  return {
    tracer: options.tracer ?? api.trace.getTracer(SCOPE),
    duration: meter.createHistogram(DURATION_METRIC, {
      description: "The duration of a tool call.",
      unit: "s",
      advice: { explicitBucketBoundaries: [...DURATION_BUCKETS] },
    }),
    logger: options.logger ?? (HAS_LOGS ? api.logs.getLogger(SCOPE) : undefined),
    recordsArguments: options.recordArguments ?? false,
    recordsResults: options.recordResults ?? false,
    redaction: options.redaction ?? new Redaction(),
  };
}
