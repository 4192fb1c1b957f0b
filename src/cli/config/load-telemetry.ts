import { headerProblem, isLoopbackHost } from "../../base/http-syntax.ts";
import { readTraceHeaders } from "../../base/trace-headers.ts";
import type { ConfigProblem } from "../../config/problem.ts";
import {
  type CompiledShape,
  compileShape,
  defaultOf,
  described,
  FLAG,
  mapOf,
  TEXT,
} from "../../config/shape.ts";
import type { ConfigSource } from "../../config/source.ts";
import type { CallTracer } from "../../engine/call/events.ts";
import { record, type TypeOf, typed } from "../../json/shape.ts";
import type { Redaction } from "../../redaction/redaction.ts";
import { shown } from "../../rendering/shown.ts";
import { parseHttpUrl } from "../../tool/http-template.ts";
import { UsageError } from "../errors.ts";
import { readToken, TOKEN } from "./token.ts";

/** Where telemetry is sent, and what is in it. */
export interface TelemetrySettings {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly sendsMetrics: boolean;
  /** What spans have of arguments and outputs. */
  readonly content: "none" | "digest" | "full";
}

const TELEMETRY = mapOf(
  {
    otlp: described(
      TEXT,
      "The address of a collector that takes OTLP over HTTP, such as `http://127.0.0.1:4318`: `/v1/traces` and `/v1/metrics` are added.",
    ),
    headers: described(
      record(TOKEN),
      "Headers of each request by their names, with values that are secrets. They are sent over TLS or to this machine only. Default: none.",
    ),
    metrics: described(FLAG, "Whether the durations of calls are sent as a metric.", true),
    content: described(
      typed<TelemetrySettings["content"]>({ type: "string", enum: ["none", "digest", "full"] }),
      "What spans have of the arguments and outputs of calls: nothing, the SHA-256 digest, or everything, redacted.",
      "none",
    ),
  },
  ["otlp"],
);

/** The shape of `telemetry`. */
export const TELEMETRY_SHAPE: CompiledShape = compileShape(TELEMETRY);

/**
 * Loads the `telemetry` of a config; `undefined` if it has none, or one with problems.
 *
 * @param problems Receives every problem.
 */
export async function loadTelemetry(
  source: ConfigSource,
  problems: ConfigProblem[],
): Promise<TelemetrySettings | undefined> {
  if (source.at(["telemetry"]) === undefined) return undefined;
  const entry = source.read<TypeOf<typeof TELEMETRY>>(TELEMETRY_SHAPE, problems, ["telemetry"]);
  if (entry === undefined) return undefined;
  const {
    otlp,
    headers: written = {},
    metrics = defaultOf(TELEMETRY, "metrics"),
    content = defaultOf(TELEMETRY, "content"),
  } = entry.value;
  const before = problems.length;
  const url = parseHttpUrl(otlp);
  const flaw =
    typeof url === "string"
      ? url.replace(/^url/, "otlp")
      : url.search !== "" || url.hash !== ""
        ? "otlp must have neither a query nor a fragment"
        : undefined;
  if (flaw !== undefined) problems.push(entry.problem(["otlp"], flaw));
  const headers: Record<string, string> = {};
  for (const [name, secret] of Object.entries(written)) {
    const value = await readToken(secret, entry, ["headers", name], problems);
    const problem = value === undefined ? undefined : headerProblem(name, value);
    if (problem !== undefined) problems.push(entry.problem(["headers", name], problem, "error", "key"));
    if (value !== undefined) headers[name] = value;
  }
  const isPlain = typeof url !== "string" && url.protocol === "http:" && !isLoopbackHost(url.hostname);
  if (isPlain && Object.keys(written).length > 0)
    problems.push(
      entry.problem(["otlp"], "must be https:, or an address of this machine: its headers are secrets"),
    );
  if (problems.length > before) return undefined;
  return { url: otlp, headers, sendsMetrics: metrics, content };
}

/** The packages that `telemetry` needs. */
const PACKAGES = [
  "api",
  "sdk-trace",
  "sdk-metrics",
  "resources",
  "exporter-trace-otlp-http",
  "exporter-metrics-otlp-http",
].map((name) => `@opentelemetry/${name}`);

/** The telemetry of a config, while a command runs. */
export interface OpenTelemetry extends AsyncDisposable {
  /** To be spread into a context: the tracer of its calls, if the config has telemetry. */
  readonly traced: { readonly tracer?: CallTracer };
}

/**
 * Opens the telemetry of a config. Close it after everything that makes calls.
 *
 * @param options.continues Whether calls belong to the trace in the environment (`TRACEPARENT`): those of a server do not.
 * @throws {UsageError} if a package is not installed.
 */
export async function openConfiguredTelemetry(
  settings: TelemetrySettings | undefined,
  {
    redaction,
    onProblem,
    continues = false,
  }: {
    readonly redaction?: Redaction | undefined;
    readonly onProblem: (message: string) => void;
    readonly continues?: boolean;
  },
): Promise<OpenTelemetry> {
  if (settings === undefined) return { traced: {}, [Symbol.asyncDispose]: async () => {} };
  const { content, ...rest } = settings;
  const records = content === "none" ? false : content === "full" ? true : content;
  const { OtlpTelemetry } = await import("../../telemetry/otlp.ts").catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error;
    throw new UsageError(
      shown`telemetry needs packages that are not installed: npm install ${PACKAGES.join(" ")}`,
    );
  });
  const telemetry = new OtlpTelemetry({
    ...rest,
    onProblem,
    recordArguments: records,
    recordResults: records,
    ...(redaction && { redaction }),
  });
  const { TRACEPARENT: traceparent, TRACESTATE: tracestate } = process.env;
  const headers = continues ? readTraceHeaders({ traceparent, tracestate }) : undefined;
  const tracer = headers === undefined ? telemetry.tracer : telemetry.tracer.continue(headers);
  return { traced: { tracer }, [Symbol.asyncDispose]: () => telemetry[Symbol.asyncDispose]() };
}
