import { ACCESS, byApprover, byOwner } from "../http/access.ts";
import {
  anyJson,
  anyOf,
  boolean,
  described,
  integer,
  list,
  object,
  oneOf,
  optional,
  record,
  type Shape,
  string,
  type TypeOf,
  typed,
} from "../json/shape.ts";
import { BASE_MODES } from "../sessions/levels.ts";
import type { SessionMode } from "../sessions/modes/mode.ts";
import { APPROVAL_SCOPE } from "./confirmations.ts";
import { content, json, operations, PrincipalId, REFUSALS, SESSION_EVENTS } from "./operation.ts";

/** Maximum number of sessions of a page. */
export const MAX_LISTED_SESSIONS = 1_000;

const LEVEL = oneOf(["auto", "prompt", "deny"]);
/** The kind of a session: an agent's is `worker`. */
const KIND = oneOf(["main", "worker"]);
/** A mode as a client is shown it. */
export const SHOWN_MODE: Shape<SessionMode> = typed(
  anyOf([string(), object({ base: oneOf(BASE_MODES), tools: optional(record(LEVEL)) })], {
    description: "As it was set: the name of a mode, or one that a client defined.",
  }),
);
const PARENT = optional(
  string({ description: "Of an agent's session: the call that runs the agent, as `<session>/<call>`." }),
);

/** The name of a mode, or one that a client defines. */
const Mode = typed<SessionMode>(
  anyOf([
    string({ maxLength: 64 }),
    object({
      base: oneOf(BASE_MODES),
      tools: optional(record(LEVEL, { maxProperties: 1_000 })),
    }),
  ]),
);

export const NewSession = object({
  workspace: optional(
    string({
      minLength: 1,
      maxLength: 4_096,
      description: "The directory in which the tools of the session work. Default: none.",
    }),
  ),
  mode: optional(described(Mode, "How calls are confirmed. Default: the mode of the server.")),
  name: optional(
    string({ minLength: 1, maxLength: 128, description: "What people are shown. Default: none." }),
  ),
  kind: optional(KIND),
  tools: optional(list(string({ minLength: 1, maxLength: 256 }), { maxItems: 100 })),
});
export type NewSession = TypeOf<typeof NewSession>;

export const SessionChange = object({ mode: Mode });
export type SessionChange = TypeOf<typeof SessionChange>;

export const SessionId = object({ id: string() });

export const SessionView = object({
  id: string(),
  name: optional(string()),
  kind: KIND,
  mode: SHOWN_MODE,
  isPlanApproved: boolean({
    description:
      "Whether a person has approved a plan in the mode, so that the session decides as in `autonomous`.",
  }),
  parent: PARENT,
});
export type SessionView = TypeOf<typeof SessionView>;

export const SessionChanged = object({
  id: string(),
  mode: SHOWN_MODE,
});

export const SessionList = object({
  sessions: list(
    object({
      id: string(),
      name: optional(string()),
      kind: KIND,
      openedAt: integer({ description: "Milliseconds since the epoch." }),
      mode: anyOf([string(), object({ base: oneOf(BASE_MODES) })], {
        description: "The name of the mode. Of one that a client defined, only the base: `{ base }`.",
      }),
      principal: optional(PrincipalId),
      parent: PARENT,
      openConfirmations: integer({ description: "The number of confirmations that wait for a person." }),
      stagedChanges: integer({
        description:
          "The number of changes of files that wait for a person. Those of an agent count in the session above " +
          "it, too.",
      }),
      runningCalls: integer(),
    }),
    { maxItems: MAX_LISTED_SESSIONS },
  ),
  next: optional(integer({ description: "The `before` of the next page. Absent on the last one." })),
});
export type SessionList = TypeOf<typeof SessionList>;
/** A session as it is listed. */
export type ShownSession = SessionList["sessions"][number];

export const Definitions = object({
  tools: typed<unknown>(anyJson({ description: "The `tools` of a request to the provider." })),
  problems: list(
    object({
      tool: string(),
      path: string({
        description: "A JSON pointer to the part of the tool's schema; empty for the tool itself.",
      }),
      reason: string(),
      effect: oneOf(["left out", "not strict", "shortened"]),
    }),
  ),
});

export const Approvals = object({
  approvals: list(
    object({
      id: string({ description: "The id of the confirmation whose answer made the approval." }),
      ...APPROVAL_SCOPE,
      sessionId: string({ description: "The session in which the person was asked." }),
      principal: optional(string({ description: "The id of the session's principal." })),
      workspace: optional(string({ description: "The workspace of the session, with links resolved." })),
      by: string({ description: "Who approved." }),
      at: integer({ description: "When, in milliseconds since the epoch." }),
      expiresAt: optional(integer({ description: "In milliseconds since the epoch. Default: never." })),
      used: integer({
        description: "The number of calls that it has covered; counted only if they are bounded.",
      }),
    }),
  ),
});
/** An approval as it is listed. */
export type ShownApproval = TypeOf<typeof Approvals>["approvals"][number];

export const Revoked = object({ revoked: list(string()) });

export const ChangeDecision = object({
  decision: oneOf(["accept", "reject"]),
  digest: optional(string({ maxLength: 128, description: "That of what was shown. Required to accept." })),
  path: optional(string({ minLength: 1, maxLength: 4_096, description: "Default: all changes." })),
});
export type ChangeDecision = TypeOf<typeof ChangeDecision>;

export const Changes = object({
  digest: optional(string({ description: "Identifies all changes together. Absent if one was asked for." })),
  changes: list(
    object({
      path: string({ description: "Relative to the workspace. Directories end with `/`." }),
      change: oneOf(["created", "modified", "deleted"]),
      diff: string({
        description:
          "A unified diff as a person is shown it: escaped, without secrets, at most 20,000 characters.",
      }),
      missing: string({ description: "What is missing in `diff`; empty if nothing is." }),
      whole: optional(
        string({
          description:
            "The whole diff, with secrets, which is not escaped. Only if the change was asked for by its path.",
        }),
      ),
      digest: string(),
      conflict: optional(
        oneOf([
          "changed",
          "created",
          "deleted",
          "replaced",
          "not-empty",
          "unreachable",
          "protected",
          "unsupported",
        ]),
      ),
    }),
  ),
});

export type Changes = TypeOf<typeof Changes>;
/** A change of a file that waits for a person. */
export type StagedChange = Changes["changes"][number];

export const DecidedChanges = object({
  accepted: optional(list(string())),
  rejected: optional(list(string())),
});

export const SESSIONS = operations({
  listSessions: {
    method: "GET",
    path: "/v1/sessions",
    summary: "Lists the open sessions that the client may inspect, the latest first",
    access: ACCESS.read,
    query: {
      before: integer({ minimum: 1, description: "The `next` of an earlier page." }),
      limit: integer({
        minimum: 1,
        maximum: MAX_LISTED_SESSIONS,
        default: 100,
        description: "The most items of the page.",
      }),
    },
    answers: { 200: json(SessionList, "A page of the sessions.") },
    refusals: [REFUSALS.TooManyReads],
  },
  openSession: {
    method: "POST",
    path: "/v1/sessions",
    summary: "Opens a session",
    access: ACCESS.openSessions,
    body: NewSession,
    answers: { 201: json(SessionId, "The session is open.") },
    refusals: [REFUSALS.SessionNotOpened],
  },
  readSession: {
    method: "GET",
    path: "/v1/sessions/:id",
    summary: "Shows a session with its current mode",
    access: ACCESS.session,
    answers: { 200: json(SessionView, "The session.") },
  },
  changeSession: {
    method: "PATCH",
    path: "/v1/sessions/:id",
    summary: "Changes the mode of a session",
    access: byApprover("only an approver can change a session"),
    body: SessionChange,
    answers: { 200: json(SessionChanged, "The mode has changed.") },
    refusals: [REFUSALS.StoreFailed],
  },
  closeSession: {
    method: "DELETE",
    path: "/v1/sessions/:id",
    summary: "Cancels the calls of a session and closes it",
    access: byOwner("only the caller of a session can close it"),
    answers: { 200: json(SessionId, "All calls have ended.") },
    refusals: [REFUSALS.StoreFailed],
  },
  listDefinitions: {
    method: "GET",
    path: "/v1/sessions/:id/definitions",
    summary: "Lists the tools that the session can see, as a provider expects them",
    access: ACCESS.session,
    query: {
      format: string({ description: "The format of a provider: see providers.md. Default: native." }),
    },
    answers: { 200: json(Definitions, "The tools.") },
  },
  readEvents: {
    method: "GET",
    path: "/v1/sessions/:id/events",
    summary: "Sends the events of a session as they occur, first those that occurred after `last-event-id`",
    access: ACCESS.session,
    headers: {
      "last-event-id": optional(
        string({ description: "The id of the last event that the client has seen." }),
      ),
    },
    answers: { 200: content(SESSION_EVENTS, "Events.") },
    refusals: [REFUSALS.Draining],
  },
  listApprovals: {
    method: "GET",
    path: "/v1/sessions/:id/approvals",
    summary: "Lists what approvers had the session remember",
    access: ACCESS.session,
    answers: { 200: json(Approvals, "The approvals.") },
  },
  revokeApprovals: {
    method: "DELETE",
    path: "/v1/sessions/:id/approvals",
    summary: "Revokes all approvals of the session",
    access: byApprover("only an approver can revoke approvals"),
    answers: { 200: json(Revoked, "The approvals are revoked.") },
    refusals: [REFUSALS.StoreFailed],
  },
  listChanges: {
    method: "GET",
    path: "/v1/sessions/:id/changes",
    summary: "Lists the staged changes of the session",
    access: ACCESS.session,
    query: { path: string({ description: "Only the change of this path, with its whole diff." }) },
    answers: { 200: json(Changes, "The staged changes.") },
  },
  decideOnChanges: {
    method: "POST",
    path: "/v1/sessions/:id/changes",
    summary: "Accepts or rejects a staged change, or all of them at once",
    access: byApprover("only an approver can accept or reject changes"),
    body: ChangeDecision,
    answers: { 200: json(DecidedChanges, "The changes were accepted or rejected.") },
    refusals: [REFUSALS.ChangesConflict, REFUSALS.ChangesDiffer, REFUSALS.StoreFailed],
  },
  revokeApproval: {
    method: "DELETE",
    path: "/v1/sessions/:id/approvals/:approvalId",
    summary: "Revokes an approval",
    access: byApprover("only an approver can revoke approvals"),
    answers: { 200: json(Revoked, "The approval is revoked.") },
    refusals: [REFUSALS.StoreFailed],
  },
});
