import { context, type Histogram, type Meter, type Tracer } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { NoopSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { allow, type DispatchContext, openSandboxes, ToolDispatchEngine, ToolRegistry } from "sandgate";
import { instrument } from "sandgate/opentelemetry";
import type { OpenCase, Question } from "../harness/case.ts";
import { readTool } from "../host/dispatch.ts";
import { INPUT_TEXT, isEcho } from "../setting.ts";
import { dispatchByHand } from "./by-hand.ts";

const CALL = { id: "call", name: "read", arguments: INPUT_TEXT };

interface Sdk {
  readonly tracer: Tracer;
  readonly meter: Meter;
  readonly duration: Histogram;
}

/** Opens an SDK that records spans and exports none: what exporting costs depends on the exporter. */
function openSdk(): Sdk {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const traces = new TracerProvider({ spanProcessors: [new NoopSpanProcessor()] });
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  const meter = new MeterProvider({ readers: [reader] }).getMeter("bench");
  const duration = meter.createHistogram("gen_ai.execute_tool.duration", { unit: "s" });
  return { tracer: traces.getTracer("bench"), meter, duration };
}

/** Opens a case that dispatches a host function that echoes. */
async function open(dispatching: (ctx: DispatchContext) => OpenCase["run"]): Promise<OpenCase> {
  const sandboxes = await openSandboxes();
  const registry = new ToolRegistry().register(readTool());
  const decision = allow({ sandbox: "host" }, { rules: ["all"] });
  const ctx = { registry, policy: { check: () => decision }, sandboxes, sessionId: "bench" };
  return { run: dispatching(ctx), check: isEcho, close: () => sandboxes.close() };
}

/** What the spans of calls cost, beside the same spans made by hand. */
const telemetry: Question = {
  name: "telemetry",
  cases: [
    {
      name: "dispatch in a span made by hand",
      open: () => {
        const sdk = openSdk();
        const engine = new ToolDispatchEngine();
        return open((ctx) => () => dispatchByHand(engine, CALL, ctx, sdk));
      },
    },
    {
      name: "dispatch of an instrumented engine",
      open: () => {
        const { tracer, meter } = openSdk();
        const engine = instrument(new ToolDispatchEngine(), { tracer, meter });
        return open((ctx) => () => engine.dispatch(CALL, ctx));
      },
    },
    {
      name: "dispatch of an instrumented engine, without an SDK",
      open: () => {
        const engine = instrument(new ToolDispatchEngine());
        return open((ctx) => () => engine.dispatch(CALL, ctx));
      },
    },
    {
      name: "dispatch of an engine that is not instrumented",
      open: () => {
        const engine = new ToolDispatchEngine();
        return open((ctx) => () => engine.dispatch(CALL, ctx));
      },
    },
  ],
};

/** The questions about telemetry. */
export const questions: readonly Question[] = [telemetry];
