import { ERROR_CODES } from "../engine/errors.ts";
import { ACCESS, byOwner } from "../http/access.ts";
import {
  anyJson,
  anyOf,
  boolean,
  constant,
  integer,
  list,
  object,
  oneOf,
  optional,
  string,
  type TypeOf,
  typed,
} from "../json/shape.ts";
import { FORMATS } from "../protocols/formats.ts";
import { SIDE_EFFECTS } from "../tool/side-effects.ts";
import { DECISION, EFFECT, ToolExecution } from "./calls.ts";
import { CONFIRMATION_EVENTS } from "./confirmations.ts";
import { ChangeConflict, content, json, operations, REFUSALS, SESSION_EVENTS } from "./operation.ts";
import { SHOWN_MODE } from "./sessions.ts";

/** An id that a client chooses. */
const ID = { minLength: 1, maxLength: 128, pattern: "^[\\w.:@-]+$" };
const NAME = string({ maxLength: 1_024 });
const AT = integer({ description: "In milliseconds since the epoch." });
const BY = optional(string({ description: "Who did it; absent if it is not known." }));

export const NewMessage = object(
  {
    turnId: optional(
      string({
        ...ID,
        description:
          "Default: `messageId`, so that a message that is sent again finds its turn; without it, a new turn.",
      }),
    ),
    messageId: optional(string({ ...ID, description: "Default: a new id." })),
    userText: optional(
      string({
        maxLength: 100_000,
        description: "What the user wrote. Only with the first message of a turn.",
      }),
    ),
    calls: optional(list(object({ id: NAME, name: NAME, arguments: anyJson() }), { maxItems: 1_000 })),
    format: optional(oneOf(FORMATS, { description: "The format of `message`." })),
    message: optional(anyJson({ description: "With `format`: the message of the provider." })),
  },
  { description: "A message of the model: either `calls`, or `message` in a provider's `format`." },
);
export type NewMessage = TypeOf<typeof NewMessage>;

export const Accepted = object({ turnId: string(), messageId: string() });

export const TurnId = object({ turnId: string() });

const EXECUTIONS = list(anyOf([ToolExecution, constant(null)]), {
  description: "In the order of the calls. `null` for a call that has not ended, or that a hook aborted.",
});

export const TurnResults = object({
  turnId: string(),
  messages: list(
    object({
      messageId: string(),
      executions: optional(EXECUTIONS),
      results: optional(
        list(typed<unknown>(anyJson()), { description: "With `format`: the messages for the provider." }),
      ),
    }),
  ),
  next: optional(
    string({
      description:
        "The turn has further messages: read them with this as `after`. A response has 4 MiB of them, and at " +
        "least one.",
    }),
  ),
});
export type TurnResults = TypeOf<typeof TurnResults>;

/** The members of every event of a call. */
const OF_CALL = {
  callId: string(),
  toolName: string(),
  parent: optional(
    string({ description: "The id of the call whose tool makes this one; absent for a call of the model." }),
  ),
  at: AT,
};
const NESTED = { ...OF_CALL, parent: string() };
/** One shape for both: a member that only one of them has needs a shape of its own. */
const OUTCOMES = oneOf(["tool.completed", "tool.failed"]);

export const NestedEvent = anyOf(
  [
    object({ type: constant("tool.decided"), ...NESTED, decision: DECISION }),
    object({ type: constant("tool.started"), ...NESTED, sideEffects: oneOf(SIDE_EFFECTS) }),
    object({
      type: OUTCOMES,
      ...NESTED,
      success: boolean(),
      error: optional(object({ code: oneOf(ERROR_CODES), effect: EFFECT })),
    }),
    object({ type: oneOf(["tool.output", "tool.log", "tool.display", "tool.aborted"]), ...NESTED }),
  ],
  {
    description:
      "What the caller of a session learns of a nested call, in place of the event that others get: which tool it calls, and " +
      "its effect.",
  },
);
export type NestedEvent = TypeOf<typeof NestedEvent>;

export const SessionEvent = anyOf(
  [
    object({
      type: constant("tool.decided"),
      ...OF_CALL,
      decision: DECISION,
      confirmedBy: optional(
        string({ description: "Who confirmed the call, if the policy was consulted once more." }),
      ),
    }),
    ...CONFIRMATION_EVENTS,
    object({
      type: constant("tool.started"),
      ...OF_CALL,
      sideEffects: oneOf(SIDE_EFFECTS),
      arguments: object({ digest: string() }),
    }),
    object({ type: constant("tool.output"), ...OF_CALL, chunk: string() }),
    object({
      type: constant("tool.log"),
      ...OF_CALL,
      level: oneOf(["debug", "info", "warn", "error"]),
      message: string(),
    }),
    object({ type: constant("tool.display"), ...OF_CALL, format: string(), source: string() }),
    object({ type: OUTCOMES, ...OF_CALL, execution: ToolExecution }),
    object({ type: constant("tool.aborted"), ...OF_CALL }),
    object(
      { type: constant("turn.ended"), turnId: string(), messageId: string(), executions: EXECUTIONS },
      { description: "All calls of a message have ended." },
    ),
    object(
      {
        type: constant("session.mode_changed"),
        sessionId: string(),
        mode: SHOWN_MODE,
        isPlanApproved: boolean(),
        by: BY,
        at: AT,
      },
      { description: "A client has changed the mode, or a person has approved a plan." },
    ),
    object(
      {
        type: oneOf(["changes.pending", "changes.accepted", "changes.rejected", "changes.conflicts"]),
        sessionId: string(),
        paths: list(string(), {
          description:
            "Relative to the workspace: the files that a call has changed (`pending`; at most 1,000), that were accepted or " +
            "rejected, or that could not be accepted.",
        }),
        conflicts: optional(list(ChangeConflict)),
        by: BY,
        at: AT,
      },
      { description: "What happened to staged changes." },
    ),
    object(
      {
        type: constant("events.lost"),
        count: optional(
          integer({ description: "How many events are missing. Absent if that is not known." }),
        ),
      },
      { description: "Events are missing in the stream." },
    ),
    NestedEvent,
  ],
  { description: "The data of an event of a session, which is named after its type." },
);
export type SessionEvent = TypeOf<typeof SessionEvent>;

export const TURNS = operations({
  addMessage: {
    method: "POST",
    path: "/v1/sessions/:id/turns",
    summary: "Dispatches the calls of a message",
    // Its caller never changes, its calls read its mode, and no message is retained of one that was closed.
    access: byOwner("only the caller of a session can dispatch calls in it", 60_000),
    body: NewMessage,
    answers: {
      200: content(SESSION_EVENTS, "The events of the session, up to the end of the message."),
      202: json(Accepted, "The message is accepted: its calls run, even if the connection is closed."),
    },
    refusals: [REFUSALS.MessageConflict, REFUSALS.TurnForgotten, REFUSALS.MessageNotAccepted],
  },
  readTurn: {
    method: "GET",
    path: "/v1/sessions/:id/turns/:turnId",
    summary: "Returns the results of a turn",
    access: ACCESS.session,
    query: {
      after: string({
        description: "The id of a message of the turn: only those after it are returned. Default: all.",
      }),
      format: string({ description: "The format of a provider: see providers.md. Default: native." }),
    },
    answers: {
      200: json(TurnResults, "All calls of these messages have ended."),
      202: json(
        TurnResults,
        "Some calls of these messages have not ended: their results are null or absent.",
      ),
    },
    refusals: [REFUSALS.TurnForgotten, REFUSALS.StoreFailed],
  },
  cancelTurn: {
    method: "POST",
    path: "/v1/sessions/:id/turns/:turnId/cancel",
    summary: "Cancels the calls of a turn",
    access: byOwner("only the caller of a session can cancel its turns"),
    answers: { 200: json(TurnId, "All calls have ended.") },
    refusals: [REFUSALS.TurnForgotten, REFUSALS.StoreFailed],
  },
});
