import { ACCESS } from "../http/access.ts";
import { constant, optional, string } from "../json/shape.ts";
import { FRAMES_PATH } from "../remote-protocol/frames/frame.ts";
import {
  DISPATCH_PATH,
  EXECUTOR_HEADER,
  HEALTH_PATH,
  METRICS_PATH,
  READY_PATH,
  REPLAYED_HEADER,
  SESSION_HEADER,
  TOOLS_PATH,
} from "../remote-protocol/http.ts";
import { PROBLEMS, Problem, type ProblemCode } from "../remote-protocol/problems.ts";
import { DispatchRequest, Execution, Tools } from "../remote-protocol/shapes.ts";
import { content, json, nothing, operations, type Reason } from "./operation.ts";

/** Why an executor refuses requests: each {@link PROBLEMS}, and what else can be with the same status. */
export const EXECUTOR_REFUSALS: Readonly<Record<ProblemCode | "host_invalid", Reason>> = Object.freeze({
  ...(Object.fromEntries(
    Object.entries(PROBLEMS).map(([code, { status, description }]) => [
      code,
      reason(status, `${code}. ${description}`),
    ]),
  ) as Record<ProblemCode, Reason>),
  unknown_key: reason(
    403,
    `unknown_key. ${PROBLEMS.unknown_key.description} Or forbidden. The client has none of the roles.`,
  ),
  draining: reason(503, `draining. ${PROBLEMS.draining.description} Or paused, on a server of sessions.`),
  host_invalid: reason(400, "bad_request. The `host` header is missing or not a single host."),
});

function reason(status: number, description: string): Reason {
  return { status, description, body: Problem };
}

/** The reasons with these codes. */
function refused(...codes: readonly (keyof typeof EXECUTOR_REFUSALS)[]): readonly Reason[] {
  return codes.map((code) => EXECUTOR_REFUSALS[code]);
}

/** Why a request of any client is refused. */
const OF_ANY = refused(
  "unauthenticated",
  "unknown_key",
  "expired",
  "misdirected",
  "altered",
  "replayed",
  "overloaded",
  "internal_error",
);
/** Why a request without a body is refused. */
const OF_READERS = [...refused("host_invalid"), ...OF_ANY];
/** Probes know neither the executor's names nor its credentials. */
const OF_PROBES = refused("host_invalid");
export const EXECUTOR = operations({
  dispatch: {
    method: "POST",
    path: DISPATCH_PATH,
    summary: "Runs one call, once",
    access: ACCESS.dispatch,
    headers: {
      traceparent: optional(
        string({
          description: "The trace that the call belongs to (W3C Trace Context). Ignored if it is not valid.",
        }),
      ),
      tracestate: optional(string({ description: "What tracing systems added to it." })),
      [SESSION_HEADER]: optional(
        string({
          description: "A value for each session by which a load balancer can route. Executors ignore it.",
        }),
      ),
    },
    body: DispatchRequest,
    answers: {
      102: nothing(
        "An interim response, once, if the call waits or has waited for its turn, so that its wall time ends " +
          "later. Not sent to HTTP/1.0, nor after a stream has begun, which has the event `waiting` instead.",
      ),
      200: content(
        {
          "application/json": Execution,
          "text/event-stream": string({
            description:
              "Events named output and log, and a final execution or problem. The data of each is JSON with the " +
              "schema of that name. The data of an event named waiting is an empty object.",
          }),
        },
        "The call's execution, whether or not its tool succeeded.",
        {
          [REPLAYED_HEADER]: constant("true", {
            description: "Set if an earlier request started the call.",
          }),
          [EXECUTOR_HEADER]: string({
            pattern: '^"[0-9a-f]{32}";time=[0-9]{1,15}$',
            description:
              'The process that answers, by the id of its start, and its time in ms, as in `"0123…cdef";time=1234`. All its answers have this header, also problems and probes.',
          }),
        },
      ),
    },
    refusals: [
      ...OF_ANY,
      ...refused(
        "bad_request",
        "not_acceptable",
        "call_id_conflict",
        "result_forgotten",
        "length_required",
        "too_large",
        "unsupported_media_type",
        "other_executor",
        "unknown_call",
        "draining",
        "deadline_passed",
      ),
    ],
  },
  listTools: {
    method: "GET",
    path: TOOLS_PATH,
    summary: "Lists the tools",
    access: ACCESS.tools,
    answers: { 200: json(Tools, "The tools, in the order of their registration.") },
    refusals: OF_READERS,
  },
  readMetrics: {
    method: "GET",
    path: METRICS_PATH,
    summary: "Returns counters, gauges and a histogram for Prometheus",
    access: ACCESS.metrics,
    answers: { 200: content({ "text/plain": string() }, "The text exposition format, version 0.0.4.") },
    refusals: OF_READERS,
  },
  checkHealth: {
    method: "GET",
    path: HEALTH_PATH,
    summary: "Checks whether the process is alive",
    access: ACCESS.public,
    answers: { 200: content({ "text/plain": string() }, "The process is alive.") },
    refusals: OF_PROBES,
  },
  openFramedConnection: {
    method: "GET",
    path: FRAMES_PATH,
    summary: "Turns the connection into a framed one (upgrade sandgate-frames/1)",
    access: ACCESS.dispatch,
    headers: {
      upgrade: constant("sandgate-frames/1"),
      "sandgate-frames-key": optional(
        string({
          pattern: "^[A-Za-z0-9_-]{43}$",
          description:
            "The client's public X25519 key in base64url. Required with a signature, which covers it.",
        }),
      ),
    },
    answers: {
      101: nothing("Frames follow, as docs/remote-protocol.md describes them."),
      default: json(Problem, "A problem."),
    },
  },
  checkReadiness: {
    method: "GET",
    path: READY_PATH,
    summary: "Checks whether the executor accepts calls",
    access: ACCESS.public,
    answers: {
      200: content({ "text/plain": string() }, "The executor accepts calls."),
      503: content(
        { "text/plain": string() },
        "The executor is shutting down, or its journal or the store of its sessions cannot be written.",
      ),
    },
    refusals: OF_PROBES,
  },
});
