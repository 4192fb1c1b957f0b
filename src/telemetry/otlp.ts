import { createNoopMeter, DiagLogLevel, diag } from "@opentelemetry/api";
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import type { CallTracer } from "../engine/call/events.ts";
import { callTracer } from "./call-tracer.ts";
import type { TelemetryOptions } from "./instruments.ts";

/** How long a request to the collector may take, also at the end of the process. */
const TIMEOUT_MS = 5_000;

const SCOPE = "sandgate";

/** Where the spans and metrics of calls are sent, and what is in them. */
interface OtlpOptions extends Pick<TelemetryOptions, "recordArguments" | "recordResults" | "redaction"> {
  /** The address of the collector, without `/v1/traces`. */
  readonly url: string;
  /** Headers of each request. */
  readonly headers: Readonly<Record<string, string>>;
  /** Whether metrics are sent. */
  readonly sendsMetrics: boolean;
  /** Gets what the SDK says of its own problems, such as a collector that cannot be reached. */
  readonly onProblem: (message: string) => void;
}

/** Sends spans and metrics over OTLP, with the global providers as they are. What is left is sent when it is closed. */
export class OtlpTelemetry implements AsyncDisposable {
  /** Follows calls. */
  readonly tracer: CallTracer;
  readonly #traces: TracerProvider;
  readonly #meters: MeterProvider | undefined;
  readonly #onProblem: OtlpOptions["onProblem"];

  constructor({ url, headers, sendsMetrics, onProblem, ...recorded }: OtlpOptions) {
    const base = url.replace(/\/+$/, "");
    const to = (signal: string) => ({ url: `${base}/v1/${signal}`, headers, timeoutMillis: TIMEOUT_MS });
    const resource = resourceFromAttributes({ "service.name": process.env["OTEL_SERVICE_NAME"] || SCOPE });
    const exporter = new OTLPTraceExporter(to("traces"));
    this.#traces = new TracerProvider({ resource, spanProcessors: [new BatchSpanProcessor({ exporter })] });
    this.#meters = sendsMetrics
      ? new MeterProvider({
          resource,
          readers: [new PeriodicExportingMetricReader({ exporter: new OTLPMetricExporter(to("metrics")) })],
        })
      : undefined;
    this.#onProblem = onProblem;
    const ignore = (): void => {};
    diag.setLogger(
      { error: onProblem, warn: onProblem, info: ignore, debug: ignore, verbose: ignore },
      { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
    );
    this.tracer = callTracer({
      ...recorded,
      tracer: this.#traces.getTracer(SCOPE),
      // Without one, durations would count in the global meter.
      meter: this.#meters?.getMeter(SCOPE) ?? createNoopMeter(),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ends = await Promise.allSettled([this.#traces.shutdown(), this.#meters?.shutdown()]);
    for (const end of ends) if (end.status === "rejected") this.#onProblem(String(end.reason));
    diag.disable();
  }
}
