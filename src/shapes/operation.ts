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
import { PROBLEM_MEMBERS, PROBLEMS, type ProblemCode } from "../remote-protocol/problems.ts";

/**
 * What a client may do. `client`: dispatch calls over the remote protocol, which run under the policy alone, so that no person
 * is asked. `caller`: open sessions, dispatch calls in them, and read, cancel and close its own. `approver`: read sessions and
 * recorded calls of the principals for which it approves, and the tools, answer their confirmations, list and revoke their
 * approvals, and set their modes. `reader`: read all sessions, recorded calls and tools, and verify the journal. `admin`: the
 * same, read sealed arguments, pause the server, and replace its policy.
 */
export type Role = "client" | "caller" | "approver" | "reader" | "admin";

/** Every {@link Role}. */
export const ROLES: readonly Role[] = Object.freeze(["client", "caller", "approver", "reader", "admin"]);

/** Who may use a route. */
export interface RouteAccess {
  /** The roles of which a client needs one. Empty if the route needs no credential. */
  readonly roles: readonly Role[];
  /** What the client must be to the session of the path; a session that it does not see is not found. Default: the path has none. */
  readonly session?: "sees" | "owns" | "approves";
  /**
   * How long ago the session may have been read, if another server can change it, in ms. Default: 500.
   */
  readonly sessionAgeMs?: number;
  /** Whether a client with the role `caller` is refused, whatever its other roles. Default: `false`. */
  readonly refusesCallers?: boolean;
  /** What a client reads that may not use the route. */
  readonly refusal: string;
}

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
  /** Why a request is refused, by status: besides the {@link PROBLEMS} of every request, or in place of them. */
  readonly problems?: Readonly<Record<number, string>>;
  /** Whether the path always leads to something, so that no request is answered with 404. Default: `false`. */
  readonly isAlwaysThere?: boolean;
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

/** The problems with these codes, as {@link Operation.problems}. */
export function problems(codes: readonly ProblemCode[]): Readonly<Record<number, string>> {
  return Object.fromEntries(
    codes.map((code) => [PROBLEMS[code].status, `${code}. ${PROBLEMS[code].description}`]),
  );
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

const VIEWERS: readonly Role[] = ["approver", "reader", "admin"];

/** For those who read what the server has. */
export const READING: RouteAccess = {
  roles: VIEWERS,
  refusal: "only approvers, readers and admins can read this",
};
/** For the people who use the console. */
export const CONSOLE: RouteAccess = { roles: VIEWERS, refusal: "a caller cannot use the console" };
/** For admins. */
export const ADMIN: RouteAccess = { roles: ["admin"], refusal: "only an admin can do this" };
/** Reading a session, by its caller and by those who inspect it. */
export const SEES: RouteAccess = {
  roles: ["caller", ...VIEWERS],
  session: "sees",
  refusal: "a client of the executor has no sessions",
};
/** For everyone, also without a credential. */
export const PUBLIC: RouteAccess = { roles: [], refusal: "" };

/** For the approvers of a session's caller. */
export function byApprover(refusal: string): RouteAccess {
  return { roles: ["approver"], session: "approves", refusal };
}

/** For the caller of a session. */
export function byOwner(refusal: string): RouteAccess {
  return { roles: ["caller"], session: "owns", refusal };
}

/** A problem of routes that write to the store of sessions. */
export const STORE_FAILED = "store_failed. The store of sessions failed: nothing ran. Retry later.";
/** A problem of lists that can be long. */
export const TOO_MANY_READS = "overloaded. There are too many requests, or too many that read the journal.";

/** The events of a session. */
export const SESSION_EVENTS: Content = {
  "text/event-stream": string({
    description: "Events as in http-api.md. The data of each is JSON with the schema SessionEvent.",
  }),
};
