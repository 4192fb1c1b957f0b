import {
  type Histogram,
  type Logger,
  logs,
  type Meter,
  metrics,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { Redaction } from "../redaction/redaction.ts";
import { DURATION_BUCKETS, DURATION_METRIC } from "./names.ts";

/** The name of the instrumentation scope. */
const SCOPE = "sandgate";

/** Options of `instrument` and `callTracer`. */
export interface TelemetryOptions {
  /** Starts the spans. Default: the tracer `sandgate` of the global provider. */
  readonly tracer?: Tracer;
  /** Has the histogram of durations. Default: the meter `sandgate` of the global provider. */
  readonly meter?: Meter;
  /** Writes exceptions as log records. If it is not enabled, they are events of the span. Default: as with `tracer`. */
  readonly logger?: Logger;
  /** Whether spans have the arguments of calls, redacted. Default: `false`. */
  readonly recordArguments?: boolean;
  /** Whether spans have the outputs of successful calls, redacted. Default: `false`. */
  readonly recordResults?: boolean;
  /** Redacts calls whose context has no `redaction`. Default: `new Redaction()`. */
  readonly redaction?: Redaction;
}

/** What spans of calls are made with. */
export interface Instruments {
  readonly tracer: Tracer;
  readonly duration: Histogram;
  readonly logger: Logger;
  readonly recordsArguments: boolean;
  readonly recordsResults: boolean;
  readonly redaction: Redaction;
}

/** Completes options. */
export function openInstruments(options: TelemetryOptions): Instruments {
  const meter = options.meter ?? metrics.getMeter(SCOPE);
  return {
    tracer: options.tracer ?? trace.getTracer(SCOPE),
    duration: meter.createHistogram(DURATION_METRIC, {
      description: "The duration of a tool call.",
      unit: "s",
      advice: { explicitBucketBoundaries: [...DURATION_BUCKETS] },
    }),
    logger: options.logger ?? logs.getLogger(SCOPE),
    recordsArguments: options.recordArguments === true,
    recordsResults: options.recordResults === true,
    redaction: options.redaction ?? new Redaction(),
  };
}
