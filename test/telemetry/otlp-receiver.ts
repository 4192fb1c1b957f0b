import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";

/** A value as OTLP writes it in JSON. */
interface OtlpValue {
  readonly stringValue?: string;
  readonly boolValue?: boolean;
  readonly intValue?: number | string;
  readonly doubleValue?: number;
  readonly arrayValue?: { readonly values?: readonly OtlpValue[] };
  readonly kvlistValue?: { readonly values?: readonly OtlpAttribute[] };
}
interface OtlpAttribute {
  readonly key: string;
  readonly value: OtlpValue;
}
interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly attributes: readonly OtlpAttribute[];
  readonly events: readonly { readonly name: string; readonly attributes: readonly OtlpAttribute[] }[];
  readonly status: { readonly code?: number; readonly message?: string };
}
interface OtlpMetric {
  readonly name: string;
  readonly unit: string;
  readonly histogram?: {
    readonly dataPoints: readonly {
      readonly attributes: readonly OtlpAttribute[];
      readonly count: number | string;
      readonly sum: number;
      readonly explicitBounds: readonly number[];
    }[];
  };
}

/** Attributes by name. */
export type Attributes = Readonly<Record<string, unknown>>;

/** A span that arrived. */
export interface ReceivedSpan extends Pick<OtlpSpan, "traceId" | "spanId" | "name" | "kind" | "status"> {
  /** `undefined` for the first span of a trace. */
  readonly parentSpanId: string | undefined;
  readonly attributes: Attributes;
  readonly events: readonly { readonly name: string; readonly attributes: Attributes }[];
}

/** A point of a histogram that arrived. */
export interface ReceivedPoint {
  readonly metric: string;
  readonly unit: string;
  readonly attributes: Attributes;
  readonly count: number;
  readonly sum: number;
  readonly bounds: readonly number[];
}

/** Receives traces and metrics over OTLP/HTTP with JSON. */
export class OtlpReceiver {
  readonly spans: ReceivedSpan[] = [];
  readonly points: ReceivedPoint[] = [];
  /** The headers of each request. */
  readonly headers: IncomingHttpHeaders[] = [];
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      this.headers.push(request.headers);
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const body = Buffer.concat(chunks);
        const isZipped = request.headers["content-encoding"] === "gzip";
        this.#take(String(request.url), JSON.parse(String(isZipped ? gunzipSync(body) : body)));
        response.writeHead(200, { "content-type": "application/json" }).end("{}");
      });
    });
  }

  static async open(): Promise<OtlpReceiver> {
    const receiver = new OtlpReceiver();
    receiver.#server.listen(0, "127.0.0.1");
    await once(receiver.#server, "listening");
    return receiver;
  }

  /** Returns the address for a signal. */
  url(signal: "traces" | "metrics"): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1/${signal}`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #take(path: string, body: unknown): void {
    if (path === "/v1/traces") {
      const { resourceSpans } = body as {
        resourceSpans: { scopeSpans: { spans: OtlpSpan[] }[] }[];
      };
      const spans = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans));
      this.spans.push(...spans.map(readSpan));
    } else {
      const { resourceMetrics } = body as {
        resourceMetrics: { scopeMetrics: { metrics: OtlpMetric[] }[] }[];
      };
      const metrics = resourceMetrics.flatMap((each) => each.scopeMetrics.flatMap((scope) => scope.metrics));
      this.points.push(...metrics.flatMap(readPoints));
    }
  }
}

function readSpan({ parentSpanId, attributes, events, ...span }: OtlpSpan): ReceivedSpan {
  return {
    ...span,
    parentSpanId: parentSpanId || undefined,
    attributes: readAttributes(attributes),
    events: events.map((event) => ({ name: event.name, attributes: readAttributes(event.attributes) })),
  };
}

function readPoints({ name: metric, unit, histogram }: OtlpMetric): readonly ReceivedPoint[] {
  return (histogram?.dataPoints ?? []).map(({ attributes, count, sum, explicitBounds: bounds }) => ({
    metric,
    unit,
    sum,
    bounds,
    attributes: readAttributes(attributes),
    count: Number(count),
  }));
}

function readAttributes(attributes: readonly OtlpAttribute[]): Attributes {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, readValue(value)]));
}

function readValue({ arrayValue, kvlistValue, intValue, ...simple }: OtlpValue): unknown {
  if (arrayValue !== undefined) return (arrayValue.values ?? []).map(readValue);
  if (kvlistValue !== undefined) return readAttributes(kvlistValue.values ?? []);
  return intValue !== undefined ? Number(intValue) : Object.values(simple)[0];
}
