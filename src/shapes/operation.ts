import type { RouteAccess } from "../http/access.ts";
import {
  integer,
  list,
  type OptionalMember,
  object,
  oneOf,
  optional,
  type Shape,
  string,
  type TypeOf,
} from "../json/shape.ts";
import { PROBLEM_MEMBERS, PROBLEMS } from "../remote-protocol/problems.ts";

/** The bodies of a request or an answer, by media type. */
export type Content = Readonly<Record<string, Shape<unknown>>>;

type HeaderShapes = Readonly<Record<string, Shape<unknown> | OptionalMember<unknown>>>;

/** What a route answers with one status. */
export interface Answer<Bodies extends Content = Content> {
  readonly description: string;
  /** Default: the answer has no body. */
  readonly content?: Bodies;
  readonly headers?: HeaderShapes;
}

/**
 * A route, written once: it is served by its method and path, its access is checked, and `docs/openapi.yaml` has it under its
 * name.
 */
export interface Operation {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** As Hono reads it: `/v1/sessions/:id`. */
  readonly path: `/${string}`;
  readonly summary: string;
  readonly description?: string;
  readonly access: RouteAccess;
  /** The parameters of the query, all of which can be absent. */
  readonly query?: Readonly<Record<string, Shape<unknown>>>;
  readonly headers?: HeaderShapes;
  /** The body of the request. Default: it has none. */
  readonly body?: Shape<unknown> | { readonly content: Content };
  readonly answers: Readonly<Record<number, Answer>> & { readonly default?: Answer };
  /** Why a request is refused: besides the reasons of every request, or in place of that with the same status. */
  readonly refusals?: readonly Reason[];
  /** Whether the path always leads to something, so that no request is answered with 404. Default: `false`. */
  readonly isAlwaysThere?: boolean;
}

/** Why requests are refused with a status: a code or several, and when. Each has one name in `docs/openapi.yaml`. */
export interface Reason {
  readonly status: number;
  readonly description: string;
  readonly body: Shape<unknown>;
}

/** The body of an operation's answer with a status, if it is JSON. */
export type AnswerBody<Of extends Operation, Status extends keyof Of["answers"]> =
  Of["answers"][Status] extends Answer<infer Bodies> ? TypeOf<Bodies["application/json"]> : never;

/** Routes by their names, which are the `operationId`s of `docs/openapi.yaml`. */
export type Operations = Readonly<Record<string, Operation>>;

/** Routes, with their paths as types: Hono infers the names of parameters from them. */
export function operations<const Of extends Operations>(of: Of): Of {
  return Object.freeze(of);
}

/** An answer with a JSON body. */
export function json<Body>(
  body: Shape<Body>,
  description: string,
  headers?: HeaderShapes,
): Answer<{ readonly "application/json": Shape<Body> }> {
  return content({ "application/json": body }, description, headers);
}

/** An answer with a body of one of some media types. */
export function content<Bodies extends Content>(
  bodies: Bodies,
  description: string,
  headers?: HeaderShapes,
): Answer<Bodies> {
  return { ...nothing(description, headers), content: bodies };
}

/** An answer without a body. */
export function nothing(description: string, headers?: HeaderShapes): Answer<Record<never, never>> {
  return { description, ...(headers && { headers }) };
}

/** The principal of a call or a session, as others are shown it. */
export const PrincipalId = object({ id: string() });

/** What is wrong with a policy. */
export const PolicyProblems = list(
  object({
    line: integer(),
    column: integer(),
    severity: oneOf(["error", "warning"]),
    message: string(),
  }),
  {
    description: "What is wrong with a policy: the first 100 problems. Lines and columns are counted from 1.",
  },
);

/** Why a staged change of a file cannot be accepted. */
export const ChangeConflict = object({
  path: string({ description: "Relative to the workspace." }),
  reason: string({ description: "Such as `changed`: the disk is not what the session saw." }),
});

/** The body of every answer of a server of sessions with a status of 400 or more. */
export const Refusal = object({
  error: object({ code: string(), ...PROBLEM_MEMBERS }),
  decision: optional(string({ description: "With `already_answered`: the answer that was first." })),
  by: optional(string({ description: "With `already_answered`: who gave it." })),
  at: optional(integer({ description: "With `already_answered`: when, in milliseconds since the epoch." })),
  problems: optional(PolicyProblems),
  conflicts: optional(
    list(ChangeConflict, {
      description: "With `changes_conflict`: the files, and what happened to each.",
    }),
  ),
});

/** Why a server of sessions refuses requests, by names that say when. */
export const REFUSALS = Object.freeze({
  HostInvalid: reason(400, "bad_request. The `host` header is missing or not a single host."),
  QueryInvalid: reason(
    400,
    "bad_request. A parameter of the query is not valid, or the `host` header is missing or not a single host.",
  ),
  BodyInvalid: reason(
    400,
    "bad_request. The body is not valid JSON or does not match the schema, or the `host` header is missing or not a " +
      "single host.",
  ),
  TextInvalid: reason(400, "bad_request. The body is not valid UTF-8, or the `host` header is invalid."),
  Unauthenticated: reason(401, `unauthenticated. ${PROBLEMS.unauthenticated.description}`),
  McpUnauthenticated: reason(
    401,
    "unauthenticated. The signature or token is missing, malformed or wrong. With server.mcp.oauth, " +
      "www-authenticate says where to get a token.",
  ),
  Forbidden: reason(403, "forbidden. The client's roles do not allow this. Or unknown_key."),
  McpForbidden: reason(
    403,
    "forbidden. The client is not a caller, its access token lacks a scope, or the host or origin is unknown.",
  ),
  LinkForbidden: reason(
    403,
    "forbidden. The request does not come from the page of the server, or the approver of the link may not answer.",
  ),
  NotFound: reason(404, "not_found. It does not exist, or the client may not know about it."),
  PageNotBuilt: reason(404, "not_found. The page was not built."),
  FileNotFound: reason(404, "not_found. There is no such file."),
  AlreadyAnswered: reason(
    409,
    "already_answered. Another answer was first: `decision`, `by` and `at` describe it.",
  ),
  ChangesConflict: reason(
    409,
    "changes_conflict. Nothing was accepted: `conflicts` names the files that have changed on the disk.",
  ),
  MessageConflict: reason(
    409,
    "message_conflict. The turn has another message with this id. Or turn_full: begin another turn. Or closed.",
  ),
  TurnForgotten: reason(
    410,
    "forgotten. The turn ended, and its messages and results are no longer retained.",
  ),
  ConfirmationGone: reason(410, "gone. The confirmation timed out or was cancelled."),
  LinkGone: reason(410, "gone. The link was used, or its confirmation has ended."),
  LengthRequired: reason(411, `length_required. ${PROBLEMS.length_required.description}`),
  Expired: reason(412, `expired. ${PROBLEMS.expired.description}`),
  TooLarge: reason(413, "too_large. The body is larger than the server accepts."),
  UnsupportedMediaType: reason(415, `unsupported_media_type. ${PROBLEMS.unsupported_media_type.description}`),
  Misdirected: reason(
    421,
    "misdirected. The `host` header is not a name of the server, or the origin is not listed.",
  ),
  Altered: reason(422, `altered. ${PROBLEMS.altered.description}`),
  PolicyInvalid: reason(
    422,
    "invalid_policy. The policy has errors, which `problems` lists, and was not replaced. Or altered.",
  ),
  TrialInvalid: reason(422, "invalid_policy. The policy has errors, which `problems` lists. Or altered."),
  NotRepeatable: reason(
    422,
    "not_repeatable. The tool can change something or is gone, or the record does not have the arguments. Or altered.",
  ),
  ChangesDiffer: reason(
    422,
    "other_digest. The changes are not those with this digest. Or altered: the signature or the digest does not match " +
      "the request.",
  ),
  ConfirmationDiffers: reason(
    422,
    "other_digest. The digest is not that of the confirmation. Or invalid_answer, or altered.",
  ),
  Replayed: reason(425, `replayed. ${PROBLEMS.replayed.description}`),
  Overloaded: reason(429, "overloaded. There are too many requests, sessions or messages."),
  TooManyReads: reason(429, "overloaded. There are too many requests, or too many that read the journal."),
  TooManyVerifications: reason(
    429,
    "overloaded. The journal is being verified, or there are too many requests.",
  ),
  TooManyTrials: reason(429, "overloaded. Two policies are being compared, or there are too many requests."),
  TooManyRepeats: reason(429, "overloaded. A call is being repeated, or there are too many requests."),
  McpOverloaded: reason(429, "overloaded. There are too many requests or sessions."),
  InternalError: reason(500, "internal_error. The server failed unexpectedly."),
  Draining: reason(503, "draining. The server is shutting down."),
  McpDraining: reason(
    503,
    "draining. The server is shutting down, or the keys of the issuer could not be fetched.",
  ),
  StoreFailed: reason(503, "store_failed. The store of sessions failed: nothing ran. Retry later."),
  SessionNotOpened: reason(
    503,
    "draining. The server is shutting down. Or store_failed: the store of sessions failed, and nothing ran.",
  ),
  MessageNotAccepted: reason(
    503,
    "draining. The server is shutting down. Or paused. Or store_failed: the store of sessions failed, and nothing ran.",
  ),
  AnswerNotAccepted: reason(
    503,
    "paused. An answer that allows the call is not accepted while the server is paused. Or store_failed: the store of " +
      "sessions failed, and nothing ran.",
  ),
  JournalUnavailable: reason(503, "unavailable. The journal cannot be read."),
  NotVerified: reason(
    503,
    "unavailable or draining. The journal cannot be read, or verifying it took more than ten minutes. Or the server is " +
      "shutting down.",
  ),
  NotCompared: reason(
    503,
    "unavailable or draining. The journal cannot be read, or comparing took more than a minute. Or the server is " +
      "shutting down.",
  ),
  NotRepeated: reason(
    503,
    "unavailable, paused or draining. The journal cannot be read, or the server is paused or shutting down.",
  ),
});

function reason(status: number, description: string): Reason {
  return { status, description, body: Refusal };
}

/** The events of a session. */
export const SESSION_EVENTS: Content = {
  "text/event-stream": string({
    description: "Events as in http-api.md. The data of each is JSON with the schema SessionEvent.",
  }),
};
