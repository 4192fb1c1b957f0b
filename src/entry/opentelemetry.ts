// Spans and metrics of calls

export { callTracer } from "../telemetry/call-tracer.ts";
export { instrument } from "../telemetry/instrument.ts";
export type { TelemetryOptions } from "../telemetry/instruments.ts";
