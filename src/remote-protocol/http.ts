/** Where an executor takes calls: `POST`. */
export const DISPATCH_PATH = "/v1/dispatch";
/** Where it tells its tools: `GET`. */
export const TOOLS_PATH = "/v1/tools";
/** Whether the process is alive: `GET`, 200. Takes no credentials. */
export const HEALTH_PATH = "/healthz";
/** Whether it takes calls: `GET`, 200 or 503. Takes no credentials. */
export const READY_PATH = "/readyz";
/** Prometheus text (version 0.0.4): `GET`. */
export const METRICS_PATH = "/metrics";

/** Of every body but streams and metrics; UTF-8. */
export const JSON_MEDIA_TYPE = "application/json";
/** What `accept` asks for to get output chunks as they come, with the execution last. */
export const STREAM_MEDIA_TYPE = "text/event-stream";

/** On an answer that was given before, to an earlier request of the same call: `true`. */
export const REPLAYED_HEADER = "idempotency-replayed";

/** The largest body of a request, in bytes, unless the executor is told otherwise. */
export const MAX_REQUEST_BYTES: number = 4 * 1_024 * 1_024;
