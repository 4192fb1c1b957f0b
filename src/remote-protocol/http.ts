import { randomBytes } from "node:crypto";

/** What an answer says about the process that sent it. */
export interface ProcessStamp {
  /** Identifies one start of an executor: 32 hexadecimal digits. */
  readonly id: string;
  /** When it sent the answer, in whole ms on a clock of its own, which never goes back. */
  readonly time: number;
}

const STAMP = /^"([0-9a-f]{32})";time=([0-9]{1,15})$/;

/** `POST`: dispatches a call. */
export const DISPATCH_PATH = "/v1/dispatch";
/** `GET`: lists the tools. */
export const TOOLS_PATH = "/v1/tools";
/** `GET`, without credentials: responds with 200 while the process is alive. */
export const HEALTH_PATH = "/healthz";
/** `GET`, without credentials: responds with 200 if the executor accepts calls, and otherwise with 503. */
export const READY_PATH = "/readyz";
/** `GET`: metrics as Prometheus text (version 0.0.4). */
export const METRICS_PATH = "/metrics";

/** The media type of all bodies except streams and metrics. They are encoded as UTF-8. */
export const JSON_MEDIA_TYPE = "application/json";
/**
 * The media type in `accept` with which a client requests a stream of output chunks, with a final execution.
 */
export const STREAM_MEDIA_TYPE = "text/event-stream";

/** The header that is `true` on a response with the execution of an earlier request for the same call. */
export const REPLAYED_HEADER = "idempotency-replayed";

/** The header of every answer that names the process that sent it: see {@link writeProcessStamp}. */
export const EXECUTOR_HEADER = "sandgate-executor";
/** The header of a dispatch request by which a load balancer can route: a digest of the session. Executors ignore it. */
export const SESSION_HEADER = "sandgate-session";

/** Default of the maximum size of a request's body, in bytes. */
export const MAX_REQUEST_BYTES: number = 4 * 1_024 * 1_024;

/** Returns an id for an executor that starts. */
export function newProcessId(): string {
  return randomBytes(16).toString("hex");
}

/** Whether a text, which is not trusted, has the form of such an id. */
export function isProcessId(text: string): boolean {
  return /^[0-9a-f]{32}$/.test(text);
}

/** Writes the value of the header: a string with a parameter (RFC 8941). */
export function writeProcessStamp(id: string, now: number): string {
  return `"${id}";time=${Math.floor(now)}`;
}

/** Reads the value of the header, which is not trusted. Returns `undefined` if it is missing or malformed. */
export function readProcessStamp(value: unknown): ProcessStamp | undefined {
  const [, id, time] = typeof value === "string" ? (STAMP.exec(value) ?? []) : [];
  return id === undefined ? undefined : { id, time: Number(time) };
}
