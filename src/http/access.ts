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

/**
 * How a request can show who sends it. `credential`: a signature, a bearer token or a client's certificate of the server's own
 * credentials; on a server without any, nothing. `access-token`: a bearer token of an authorization server. `cookie`: a login to
 * the console, if the request has no other credential. `body`: a one-time token, a bearer token or an answer link in the body.
 */
export type Proof = "credential" | "access-token" | "cookie" | "body";

/** Who may use a route. */
export interface RouteAccess {
  /** What a request can show who sends it with. Empty if it need not. */
  readonly proofs: readonly Proof[];
  /** The roles of which a client needs one. Empty if it needs none. */
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

/** The proofs of the routes of the remote protocol, which browsers do not use. */
const OF_PROGRAMS: readonly Proof[] = ["credential"];
/** Those of the routes of sessions, which the page of the console uses, too. */
const OF_PAGES: readonly Proof[] = ["credential", "cookie"];

/**
 * Who may use the routes of a server: its doors. Each route in `shapes/` names one. What a client then sees, such as which
 * sessions of a list, depends on the client: see `Client.inspects`. A server without sessions knows no roles: there, whoever has
 * a credential may use every route.
 */
export const ACCESS: Readonly<
  Record<
    | "public"
    | "dispatch"
    | "tools"
    | "metrics"
    | "mcp"
    | "openSessions"
    | "session"
    | "read"
    | "confirmations"
    | "verifyJournal"
    | "administer"
    | "console"
    | "notifyBrowsers"
    | "body"
    | "logIn"
    | "logOut",
    RouteAccess
  >
> = Object.freeze({
  /** Probes, the page of the console and metadata. */
  public: { proofs: [], roles: [], refusal: "" },
  /** Dispatching calls about which no person is asked. */
  dispatch: {
    proofs: OF_PROGRAMS,
    roles: ["client"],
    refusal:
      "only a client of the executor can dispatch calls without a session: a caller opens one with POST " +
      "/v1/sessions",
  },
  tools: {
    proofs: OF_PROGRAMS,
    roles: ["client", ...VIEWERS],
    refusal: "a caller reads the tools of its session: GET /v1/sessions/ID/definitions",
  },
  metrics: {
    proofs: OF_PROGRAMS,
    roles: ["reader", "admin"],
    refusal: "only readers and admins can read metrics: they name all callers",
  },
  mcp: {
    proofs: ["credential", "access-token"],
    roles: ["caller"],
    refusal: "only a caller can use the MCP server",
  },
  openSessions: { proofs: OF_PAGES, roles: ["caller"], refusal: "only a caller can open sessions" },
  /** Reading a session, by its caller and by those who inspect it. */
  session: {
    proofs: OF_PAGES,
    roles: ["caller", ...VIEWERS],
    session: "sees",
    refusal: "a client of the executor has no sessions",
  },
  /** Reading what the server has. */
  read: { proofs: OF_PAGES, roles: VIEWERS, refusal: "only approvers, readers and admins can read this" },
  confirmations: {
    proofs: OF_PAGES,
    roles: VIEWERS,
    refusesCallers: true,
    refusal: "a caller cannot list confirmations: they are events of its sessions",
  },
  verifyJournal: {
    proofs: OF_PAGES,
    roles: ["reader", "admin"],
    refusal: "only readers and admins can verify the journal",
  },
  administer: { proofs: OF_PAGES, roles: ["admin"], refusal: "only an admin can do this" },
  console: { proofs: OF_PAGES, roles: VIEWERS, refusal: "a caller cannot use the console" },
  notifyBrowsers: {
    proofs: OF_PAGES,
    roles: ["approver"],
    refusesCallers: true,
    refusal: "only an approver can have a browser notified",
  },
  /** Logging in with the body, and using an answer link. What is in the body decides who that is: see {@link ACCESS.logIn}. */
  body: { proofs: ["body", ...OF_PAGES], roles: [], refusal: "" },
  /** What the sender of the token in the body needs to log in to the console. */
  logIn: {
    proofs: [],
    roles: VIEWERS,
    refusesCallers: true,
    refusal: "a caller cannot log in: use the token of an approver, a reader or an admin",
  },
  /** Logging out: without a login, there is nothing to end. */
  logOut: { proofs: OF_PAGES, roles: [], refusal: "" },
});

/** The door of routes for the approvers of a session's caller. */
export function byApprover(refusal: string): RouteAccess {
  return { proofs: OF_PAGES, roles: ["approver"], session: "approves", refusal };
}

/** The door of routes for the caller of a session. */
export function byOwner(refusal: string, sessionAgeMs?: number): RouteAccess {
  const age = sessionAgeMs === undefined ? {} : { sessionAgeMs };
  return { proofs: OF_PAGES, roles: ["caller"], session: "owns", ...age, refusal };
}
