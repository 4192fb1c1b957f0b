import type { Attributes, Context, Histogram, Meter, Tracer } from "@opentelemetry/api";
import * as api from "@opentelemetry/api";
import { type OptionNames, refuseUnknown } from "../base/unknown-names.ts";
import { Redaction } from "../redaction/redaction.ts";

/**
 * Names of the OpenTelemetry semantic conventions for generative AI (their status is "Development"), release 0.1.0:
 * https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/execute-tool.md
 */
export const OPERATION = "execute_tool";
export const OPERATION_NAME = "gen_ai.operation.name";
export const CONVERSATION_ID = "gen_ai.conversation.id";
export const TOOL_NAME = "gen_ai.tool.name";
export const TOOL_TYPE = "gen_ai.tool.type";
export const TOOL_DESCRIPTION = "gen_ai.tool.description";
export const TOOL_CALL_ID = "gen_ai.tool.call.id";
export const TOOL_CALL_ARGUMENTS = "gen_ai.tool.call.arguments";
export const TOOL_CALL_RESULT = "gen_ai.tool.call.result";
export const ERROR_TYPE = "error.type";
export const EXCEPTION_EVENT = "gen_ai.execute_tool.exception";
export const EXCEPTION_MESSAGE = "exception.message";
export const EXCEPTION_STACKTRACE = "exception.stacktrace";
export const DURATION_METRIC = "gen_ai.execute_tool.duration";

/** The value of {@link TOOL_TYPE}: a function that the application runs, with arguments from the model. */
export const FUNCTION_TYPE = "function";
/** The value of {@link ERROR_TYPE} for a call that a hook aborted; all other values are an `ErrorCode`. */
export const ABORTED = "aborted";
/** The value of an attribute of metrics that stands for all values that are not known. */
export const OTHER = "_OTHER";

/** The buckets, in seconds, that the conventions recommend for {@link DURATION_METRIC}. */
export const DURATION_BUCKETS: readonly number[] = Object.freeze(
  Array.from({ length: 14 }, (_, power) => 2 ** power / 100),
);

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
