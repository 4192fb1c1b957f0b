import {
  anyJson,
  anyObject,
  anyOf,
  constant,
  list,
  object,
  oneOf,
  optional,
  string,
  type TypeOf,
} from "../json/shape.ts";
import { FORMATS } from "../protocols/formats.ts";
import { byOwner, content, json, operations, SEES, SESSION_EVENTS, STORE_FAILED } from "./operation.ts";

/** An id that a client chooses. */
const ID = { minLength: 1, maxLength: 128, pattern: "^[\\w.:@-]+$" };
const NAME = string({ maxLength: 1_024 });

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

export const TurnResults = object({
  turnId: string(),
  messages: list(
    object({
      messageId: string(),
      executions: optional(list(anyOf([anyObject(), constant(null)]))),
      results: optional(list(anyJson())),
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

export const TURNS = operations({
  addMessage: {
    method: "POST",
    path: "/v1/sessions/:id/turns",
    summary: "Dispatches the calls of a message",
    access: {
      roles: ["caller"],
      session: "owns",
      refusal: "only the caller of a session can dispatch calls in it",
      // Its caller never changes, its calls read its mode, and no message is retained of one that was closed.
      sessionAgeMs: 60_000,
    },
    body: NewMessage,
    answers: {
      200: content(SESSION_EVENTS, "The events of the session, up to the end of the message."),
      202: json(Accepted, "The message is accepted: its calls run, even if the connection is closed."),
    },
    problems: {
      409:
        "message_conflict. The turn has another message with this id. Or turn_full: begin another turn. Or " +
        "closed.",
      410: "forgotten. The turn ended, and its messages and results are no longer retained.",
      503:
        "draining. The server is shutting down. Or paused. Or store_failed: the store of sessions failed, " +
        "and nothing ran.",
    },
  },
  readTurn: {
    method: "GET",
    path: "/v1/sessions/:id/turns/:turnId",
    summary: "Returns the results of a turn",
    access: SEES,
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
    problems: {
      410: "forgotten. The turn ended, and its messages and results are no longer retained.",
      503: STORE_FAILED,
    },
  },
  cancelTurn: {
    method: "POST",
    path: "/v1/sessions/:id/turns/:turnId/cancel",
    summary: "Cancels the calls of a turn",
    access: byOwner("only the caller of a session can cancel its turns"),
    answers: { 200: json(TurnId, "All calls have ended.") },
    problems: {
      410: "forgotten. The turn ended, and its messages and results are no longer retained.",
      503: STORE_FAILED,
    },
  },
});
