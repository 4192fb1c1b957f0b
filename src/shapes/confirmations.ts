import { MAX_REASON_CHARS } from "../engine/errors.ts";
import { ACCESS, byApprover } from "../http/access.ts";
import {
  anyJson,
  anyObject,
  anyOf,
  boolean,
  constant,
  described,
  integer,
  list,
  number,
  type ObjectOf,
  object,
  oneOf,
  optional,
  optionals,
  string,
  type TypeOf,
  typed,
} from "../json/shape.ts";
import type { ApprovalScope } from "../sessions/confirmations/confirmation.ts";
import { MAX_ANSWER_CHARS, MAX_CHOICE_CHARS, MAX_CHOICES, type QuestionAnswer } from "../tool/question.ts";
import { SIDE_EFFECTS } from "../tool/side-effects.ts";
import { Grant } from "./calls.ts";
import { json, operations, REFUSALS } from "./operation.ts";

/** How a person can answer. `always` allows the call, and remembers the answer. */
const CHOICE = oneOf(["allow", "deny", "always", "answer"]);
/** How a confirmation can end. */
const ENDING = oneOf(["allow", "answer", "deny", "timeout", "cancelled"]);
const MS = "In milliseconds since the epoch.";

/** Identifies a confirmation and its call: all that the caller of a session is shown of a nested call. */
const IDENTITY = {
  requestId: string(),
  kind: oneOf(["call", "question", "plan"]),
  sessionId: string(),
  sessionName: optional(string({ description: "Absent if the session has none." })),
  turnId: string(),
  messageId: optional(string()),
  callId: string(),
  principal: optional(string({ description: "The id of the session's principal; absent if it has none." })),
  parent: optional(
    string({ description: "The id of the call whose tool makes this one; absent for a call of the model." }),
  ),
  toolName: string(),
  sideEffects: oneOf(SIDE_EFFECTS),
  choices: list(CHOICE),
  askedAt: integer({ description: MS }),
  expiresAt: integer({ description: "From when on an answer is too late, in milliseconds since the epoch." }),
};

/** The same as a type. */
export type ConfirmationIdentity = ObjectOf<typeof IDENTITY>;

/** What a person is shown, escaped and redacted. */
const SHOWN = {
  inputSummary: string({ description: "The arguments: of long ones, the beginning and the end." }),
  missing: string({ description: "What the summary does not show; empty if nothing is missing." }),
  projectedChanges: list(string(), { description: "What the tool says that it would change. Not verified." }),
  question: string({ description: "What the policy or the tool asks." }),
  options: list(string(), { description: "The answers to choose from. Absent if the answer is any text." }),
  multiple: boolean({ description: "Whether several options can be given." }),
  digest: string({ description: "Identifies exactly what is shown. An answer must repeat it." }),
  grant: described(Grant, "The grant under which the call would run."),
};

/** Which calls an approval covers. */
export const APPROVAL_SCOPE = {
  tools: list(string(), { description: "Names of tools, in which `*` matches any number of characters." }),
  when: optional(
    typed<NonNullable<ApprovalScope["when"]>>(
      anyObject({
        description: "The conditions that a call must meet, as in a policy's rule. Default: none.",
      }),
    ),
  ),
  for: anyOf([oneOf(["session", "workspace"]), number()], {
    description:
      "`session`: until the session is closed. `workspace`: in every session of the principal with the workspace. A number: " +
      "in the session, for so many milliseconds.",
  }),
  calls: optional(integer({ description: "The number of calls that it covers. Default: no bound." })),
};

/** What an answer of the kind `always` remembers; see confirmations.md. The session checks it. */
const APPROVAL = optional(
  typed<ApprovalScope>(
    anyObject({
      description:
        "With `always`: for which calls the answer is remembered. Default: the tool, in this session.",
    }),
  ),
);

export const Answer = object({
  decision: CHOICE,
  digest: string({ maxLength: 128, description: "That of the confirmation that the person was shown." }),
  answer: optional(
    anyOf(
      [
        string({ maxLength: MAX_ANSWER_CHARS }),
        list(string({ maxLength: MAX_CHOICE_CHARS }), { maxItems: MAX_CHOICES }),
      ],
      { description: "With `answer`: the answer to the question." },
    ),
  ),
  arguments: optional(
    anyJson({
      description: "Other arguments, under which the call is to run. Default: those that were shown.",
    }),
  ),
  approval: APPROVAL,
  reason: optional(
    string({
      maxLength: MAX_REASON_CHARS,
      description: "Why the call is denied, as the model reads it. Default: no reason.",
    }),
  ),
});
export type Answer = TypeOf<typeof Answer>;

/** How a confirmation was answered. */
const RESOLUTION = {
  choice: optional(CHOICE),
  at: integer({ description: MS }),
  answer: optional(typed<QuestionAnswer>(anyOf([string(), list(string())]))),
  arguments: optional(anyJson()),
  approval: optional(object(APPROVAL_SCOPE, { description: "For which calls the answer is remembered." })),
};

export const Resolved = object({
  requestId: string(),
  decision: oneOf(["allow", "answer", "deny"]),
  by: string({ description: "The id of the person who answered." }),
  ...RESOLUTION,
  reason: optional(string({ description: "Why the call was denied." })),
});
export type Resolved = TypeOf<typeof Resolved>;

const OPEN = {
  ...IDENTITY,
  inputSummary: optional(SHOWN.inputSummary),
  missing: SHOWN.missing,
  projectedChanges: optional(SHOWN.projectedChanges),
  question: SHOWN.question,
  options: optional(SHOWN.options),
  multiple: optional(SHOWN.multiple),
  digest: SHOWN.digest,
  grant: optional(SHOWN.grant),
};

export const OpenConfirmation = object(OPEN);
export type OpenConfirmation = TypeOf<typeof OpenConfirmation>;

export const Confirmations = object({
  confirmations: list(OpenConfirmation, {
    description:
      "Those of the kind `question` have `multiple`, and `options` unless the answer is any text. The " +
      "others have " +
      "`inputSummary`, `projectedChanges` and `grant`.",
  }),
});

/** The events of a confirmation. */
export const CONFIRMATION_EVENTS = [
  object({ type: constant("tool.confirmation_requested"), ...OPEN }),
  object(
    { type: constant("tool.confirmation_requested"), ...IDENTITY },
    { description: "To the caller of the session, about a nested call." },
  ),
  object({
    type: constant("tool.confirmation_resolved"),
    requestId: string(),
    sessionId: string(),
    callId: string(),
    turnId: string(),
    toolName: string(),
    decision: ENDING,
    parent: optional(string()),
    by: optional(string({ description: "The id of the person who answered; absent if nobody did." })),
    at: integer({ description: MS }),
  }),
] as const;

export const ConfirmationView = object(
  {
    ...IDENTITY,
    ...optionals(SHOWN),
    arguments: optional(string({ description: "The whole arguments as JSON text, with secrets." })),
    wholeQuestion: optional(string({ description: "The whole question, with secrets." })),
    argumentOrder: optional(
      list(string(), {
        description:
          "The names of the tool's arguments, those of paths and URLs first, then as in its schema.",
      }),
    ),
    rules: optional(list(string(), { description: "The names of the rules that led to the question." })),
    currentText: optional(
      anyOf([string(), constant(null)], {
        description:
          "The text of the only file that the call would write, as it is now, if it has at most 256 KiB; " +
          "`null` if there is no " +
          "such file. Only for approvers of the session, and for a link.",
      }),
    ),
    approver: optional(string({ description: "In whose name a link answers; only for a link." })),
    resolution: optional(
      object({
        decision: ENDING,
        by: optional(string({ description: "The id of the person who answered." })),
        ...RESOLUTION,
        reason: optional(string({ description: "Why the call was denied." })),
      }),
    ),
  },
  {
    description:
      "The caller of the session does not get `rules` and `argumentOrder`, and of a nested call (with " +
      "`parent`) none of the " +
      "members that are not required, which say what the call is about.",
  },
);
export type ConfirmationView = TypeOf<typeof ConfirmationView>;
/** What clients are shown that are not the caller of the session. */
export type WholeConfirmation = ConfirmationView & OpenConfirmation;
/** For which calls an answer is remembered. */
export type Approval = NonNullable<Answer["approval"]>;
/** How a confirmation ended. */
export type Resolution = NonNullable<ConfirmationView["resolution"]>;

export const LinkAnswer = object({
  token: string({ minLength: 1, maxLength: 64, description: "The fragment of the link." }),
  decision: optional(oneOf(["allow", "deny"], { description: "Default: the confirmation is only read." })),
  reason: optional(
    string({ maxLength: MAX_REASON_CHARS, description: "Why the call is denied, as the model reads it." }),
  ),
});
export type LinkAnswer = TypeOf<typeof LinkAnswer>;

export const Programs = object({
  programs: list(
    object({
      sessionId: string(),
      turnId: string(),
      messageId: string(),
      callId: string(),
      principal: optional(string()),
      toolName: string(),
      suspendedAt: integer({ description: "In milliseconds since the epoch." }),
      waitUntil: integer({
        description: "Until when it may wait for people, in milliseconds since the epoch.",
      }),
      leftMs: integer({ minimum: 0, description: "How long it may still wait for people, in milliseconds." }),
      open: list(
        object({
          callId: string(),
          toolName: string(),
          requestId: optional(
            string({ description: "The confirmation of the call; absent if none is open." }),
          ),
        }),
        { description: "The calls that it waits for." },
      ),
    }),
  ),
});
export type SuspendedPrograms = TypeOf<typeof Programs>;
export type SuspendedProgram = SuspendedPrograms["programs"][number];

export const CONFIRMATIONS = operations({
  readConfirmation: {
    method: "GET",
    path: "/v1/sessions/:id/turns/:turnId/confirmations/:requestId",
    summary: "Returns a whole confirmation, with secrets",
    access: ACCESS.session,
    answers: { 200: json(ConfirmationView, "The confirmation.") },
    refusals: [REFUSALS.StoreFailed],
  },
  answerConfirmation: {
    method: "POST",
    path: "/v1/sessions/:id/turns/:turnId/confirmations/:requestId",
    summary: "Answers a confirmation",
    access: byApprover("only an approver can answer"),
    body: Answer,
    answers: { 200: json(Resolved, "The answer is in force.") },
    refusals: [
      REFUSALS.AlreadyAnswered,
      REFUSALS.ConfirmationGone,
      REFUSALS.ConfirmationDiffers,
      REFUSALS.AnswerNotAccepted,
    ],
  },
  listConfirmations: {
    method: "GET",
    path: "/v1/confirmations",
    summary: "Lists the open confirmations that the client may know about",
    access: ACCESS.confirmations,
    answers: { 200: json(Confirmations, "The confirmations, the oldest first.") },
  },
  listPrograms: {
    method: "GET",
    path: "/v1/programs",
    summary:
      "Lists the programs that are suspended while they wait, in sessions that the client may know about",
    access: ACCESS.read,
    answers: { 200: json(Programs, "The programs, the oldest first.") },
  },
  useAnswerLink: {
    method: "POST",
    path: "/v1/console/answer-link",
    summary: "Reads what a link of a notification answers, or answers it once; only with server.console",
    access: ACCESS.body,
    body: LinkAnswer,
    answers: {
      200: json(
        anyOf([ConfirmationView, Resolved]),
        "Without a decision, the confirmation; otherwise, how it was answered.",
      ),
    },
    refusals: [
      REFUSALS.LinkForbidden,
      REFUSALS.AlreadyAnswered,
      REFUSALS.LinkGone,
      REFUSALS.AnswerNotAccepted,
    ],
  },
});
