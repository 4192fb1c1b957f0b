import type { Client, OwnedSession } from "./client.ts";
import type { Role } from "./credential.ts";

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

const VIEWERS: readonly Role[] = ["approver", "reader", "admin"];
const READING: RouteAccess = {
  roles: VIEWERS,
  refusal: "only approvers, readers and admins can read this",
};
const CONSOLE: RouteAccess = { roles: VIEWERS, refusal: "a caller cannot use the console" };
const PUSH: RouteAccess = {
  roles: ["approver"],
  refusesCallers: true,
  refusal: "only an approver can have a browser notified",
};
const ADMIN: RouteAccess = { roles: ["admin"], refusal: "only an admin can do this" };
const MCP: RouteAccess = { roles: ["caller"], refusal: "only a caller can use the MCP server" };
/** Dispatching calls about which no person is asked. */
const EXECUTOR: RouteAccess = {
  roles: ["client"],
  refusal:
    "only a client of the executor can dispatch calls without a session: a caller opens one with POST /v1/sessions",
};
/** Reading a session, by its caller and by those who inspect it. */
const SEES: RouteAccess = {
  roles: ["caller", ...VIEWERS],
  session: "sees",
  refusal: "a client of the executor has no sessions",
};
const PUBLIC: RouteAccess = { roles: [], refusal: "" };

function approver(refusal: string): RouteAccess {
  return { roles: ["approver"], session: "approves", refusal };
}

function owner(refusal: string): RouteAccess {
  return { roles: ["caller"], session: "owns", refusal };
}

const SESSION = "/v1/sessions/:id";
const TURN = `${SESSION}/turns/:turnId`;
const INQUIRY = `${TURN}/confirmations/:requestId`;

/**
 * Who may use each route of a server of sessions, by its method and path. A route that is not here cannot be served. What a
 * client then sees, such as which sessions of a list, depends on the client: see {@link Client.inspects}.
 */
export const ROUTE_ACCESS = Object.freeze({
  "GET /healthz": PUBLIC,
  "GET /readyz": PUBLIC,
  "POST /v1/dispatch": EXECUTOR,
  "GET /v1/tools": {
    roles: ["client", ...VIEWERS],
    refusal: "a caller reads the tools of its session: GET /v1/sessions/ID/definitions",
  },
  "GET /v1/frames": EXECUTOR,
  "GET /metrics": {
    roles: ["reader", "admin"],
    refusal: "only readers and admins can read metrics: they name all callers",
  },

  "GET /v1/sessions": READING,
  "POST /v1/sessions": { roles: ["caller"], refusal: "only a caller can open sessions" },
  [`GET ${SESSION}`]: SEES,
  [`PATCH ${SESSION}`]: approver("only an approver can change a session"),
  [`DELETE ${SESSION}`]: owner("only the caller of a session can close it"),
  [`GET ${SESSION}/definitions`]: SEES,
  [`GET ${SESSION}/events`]: SEES,
  [`POST ${SESSION}/turns`]: {
    ...owner("only the caller of a session can dispatch calls in it"),
    // Its caller never changes, its calls read its mode, and no message is retained of one that was closed.
    sessionAgeMs: 60_000,
  },
  [`GET ${TURN}`]: SEES,
  [`POST ${TURN}/cancel`]: owner("only the caller of a session can cancel its turns"),
  [`GET ${INQUIRY}`]: SEES,
  [`POST ${INQUIRY}`]: approver("only an approver can answer"),
  [`GET ${SESSION}/approvals`]: SEES,
  [`DELETE ${SESSION}/approvals`]: approver("only an approver can revoke approvals"),
  [`DELETE ${SESSION}/approvals/:approvalId`]: approver("only an approver can revoke approvals"),
  [`GET ${SESSION}/changes`]: SEES,
  [`POST ${SESSION}/changes`]: approver("only an approver can accept or reject changes"),
  "GET /v1/programs": READING,
  "GET /v1/confirmations": {
    roles: VIEWERS,
    refusesCallers: true,
    refusal: "a caller cannot list confirmations: they are events of its sessions",
  },

  "GET /v1/overview": READING,
  "GET /v1/journal": READING,
  "GET /v1/journal/calls": READING,
  "GET /v1/journal/calls/:seq": READING,
  "POST /v1/journal/verification": {
    roles: ["reader", "admin"],
    refusal: "only readers and admins can verify the journal",
  },
  "POST /v1/journal/policy-diff": ADMIN,
  "POST /v1/journal/calls/:seq/repeat": ADMIN,
  "PUT /v1/policy": ADMIN,
  "POST /v1/pause": ADMIN,
  "POST /v1/resume": ADMIN,

  // A login and a link have their credential in the body, and what a login ends is a login.
  "POST /v1/console/session": PUBLIC,
  "DELETE /v1/console/session": PUBLIC,
  "GET /v1/console/session": CONSOLE,
  "POST /v1/console/answer-link": PUBLIC,
  "GET /v1/console/push": PUSH,
  "POST /v1/console/push": PUSH,
  "DELETE /v1/console/push": PUSH,
  "GET /v1/console/tools": READING,
  "GET /v1/calls": CONSOLE,
  "GET /v1/calls/events": CONSOLE,
  "GET /v1/calls/:ref": CONSOLE,
  "GET /console": PUBLIC,
  "GET /console/": PUBLIC,
  "GET /console/:path": PUBLIC,

  "POST /mcp": MCP,
  "GET /mcp": MCP,
  "DELETE /mcp": MCP,
  "GET /.well-known/oauth-protected-resource": PUBLIC,
  "GET /.well-known/oauth-protected-resource/mcp": PUBLIC,
} satisfies Readonly<Record<string, RouteAccess>>) as Readonly<Record<string, RouteAccess>>;

/** Who may log in to the console with a token. */
export const LOGIN_ACCESS: RouteAccess = {
  roles: VIEWERS,
  refusesCallers: true,
  refusal: "a caller cannot log in: use the token of an approver, a reader or an admin",
};

/** Returns who may use a route. @throws {Error} if it is not among {@link ROUTE_ACCESS}. */
export function accessTo(route: string): RouteAccess {
  const access = Object.hasOwn(ROUTE_ACCESS, route) ? ROUTE_ACCESS[route] : undefined;
  if (access === undefined) throw new Error(`nothing says who may use the route ${route}`);
  return access;
}

/** Whether a client may use a route, and what it must be to the session of the path. */
export function mayUse(
  { roles, session: relation, refusesCallers = false }: RouteAccess,
  client: Client,
  session?: OwnedSession,
): boolean {
  if (roles.length === 0) return true;
  if (refusesCallers && client.is("caller")) return false;
  if (!roles.some((role) => client.is(role))) return false;
  if (relation === undefined) return true;
  return session !== undefined && client[relation](session);
}
