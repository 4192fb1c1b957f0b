import { context, type Meter, type Tracer } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { onTestFinished } from "vitest";
import { OtlpReceiver, type ReceivedPoint, type ReceivedSpan } from "./otlp-receiver.ts";

/** An SDK of OpenTelemetry that exports to a receiver in this process. */
export interface Sdk {
  readonly tracer: Tracer;
  readonly meter: Meter;
  /** Both, as options. */
  readonly telemetry: { readonly tracer: Tracer; readonly meter: Meter };
  /** Exports what there is, and returns all spans so far, in the order in which they ended. */
  spans(): Promise<ReceivedSpan[]>;
  /** Exports the metrics, and returns all points of this export. */
  points(): Promise<readonly ReceivedPoint[]>;
}

/** Opens an SDK and makes its contexts follow asynchronous calls, until the test finishes. */
export async function openSdk(): Promise<Sdk> {
  const receiver = await OtlpReceiver.open();
  const resource = resourceFromAttributes({ "service.name": "sandgate-test" });
  const exporter = new OTLPTraceExporter({ url: receiver.url("traces") });
  const traces = new TracerProvider({ resource, spanProcessors: [new BatchSpanProcessor({ exporter })] });
  const reader = new PeriodicExportingMetricReader({
    exporter: new OTLPMetricExporter({ url: receiver.url("metrics") }),
    exportIntervalMillis: 3_600_000,
  });
  const metrics = new MeterProvider({ resource, readers: [reader] });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  onTestFinished(async () => {
    context.disable();
    await traces.shutdown();
    await metrics.shutdown();
    receiver.close();
  });
  const telemetry = { tracer: traces.getTracer("test"), meter: metrics.getMeter("test") };
  return {
    ...telemetry,
    telemetry,
    spans: async () => {
      await traces.forceFlush();
      return receiver.spans;
    },
    points: async () => {
      receiver.points.length = 0;
      await metrics.forceFlush();
      return receiver.points;
    },
  };
}
