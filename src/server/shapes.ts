import { MAX_REASON_CHARS } from "../engine/errors.ts";
import type { JsonObject, JsonValue } from "../json/value.ts";
import { FORMATS } from "../protocols/formats.ts";
import { BodyCheck, closed } from "../remote-protocol/shapes.ts";
import type { ApprovalScope, Choice } from "../sessions/confirmations/confirmation.ts";
import { BASE_MODES } from "../sessions/levels.ts";
import type { SessionMode } from "../sessions/modes/mode.ts";
import { MAX_ANSWER_CHARS, MAX_CHOICE_CHARS, MAX_CHOICES, type QuestionAnswer } from "../tool/question.ts";
import type { PushSubscription } from "./notifying/notify.ts";

/** The most calls of a message. */
const MAX_CALLS = 1_000;
/** The longest policy, in characters. */
const MAX_POLICY_CHARS = 1_048_576;
const ID: JsonObject = { type: "string", minLength: 1, maxLength: 128, pattern: "^[\\w.:@-]+$" };
const NAME: JsonObject = { type: "string", maxLength: 1_024 };
const PATTERNS: JsonObject = {
  type: "array",
  items: { type: "string", minLength: 1, maxLength: 256 },
  maxItems: 100,
};
/** The name of a mode, or one that a client defines. */
const MODE: JsonObject = {
  anyOf: [
    { type: "string", maxLength: 64 },
    closed(
      {
        base: { enum: [...BASE_MODES] },
        tools: {
          type: "object",
          additionalProperties: { enum: ["auto", "prompt", "deny"] },
          maxProperties: 1_000,
        },
      },
      ["tools"],
    ),
  ],
};

/**
 * JSON schemas (draft 2020-12) of the bodies of requests. A test checks that they are the same as in
 * `docs/openapi.yaml`.
 */
export const BODY_SCHEMAS: Readonly<Record<BodyName, JsonObject>> = Object.freeze({
  ConsoleLogin: closed({ token: { type: "string", minLength: 1, maxLength: 4_096 } }),
  LinkAnswer: closed(
    {
      token: { type: "string", minLength: 1, maxLength: 64 },
      decision: { enum: ["allow", "deny"] },
      reason: { type: "string", maxLength: MAX_REASON_CHARS },
    },
    ["decision", "reason"],
  ),
  NewPush: closed({
    endpoint: { type: "string", minLength: 1, maxLength: 2_048 },
    keys: closed({
      p256dh: { type: "string", maxLength: 128 },
      auth: { type: "string", maxLength: 64 },
    }),
  }),
  ForgottenPush: closed({ endpoint: { type: "string", minLength: 1, maxLength: 2_048 } }),
  NewSession: closed(
    {
      workspace: { type: "string", minLength: 1, maxLength: 4_096 },
      mode: MODE,
      name: { type: "string", minLength: 1, maxLength: 128 },
      kind: { enum: ["main", "worker"] },
      tools: PATTERNS,
    },
    ["workspace", "mode", "name", "kind", "tools"],
  ),
  SessionChange: closed({ mode: MODE }),
  NewMessage: closed(
    {
      turnId: ID,
      messageId: ID,
      userText: { type: "string", maxLength: 100_000 },
      calls: {
        type: "array",
        items: closed({ id: NAME, name: NAME, arguments: {} }),
        maxItems: MAX_CALLS,
      },
      format: { enum: [...FORMATS] },
      message: {},
    },
    ["turnId", "messageId", "userText", "calls", "format", "message"],
  ),
  ChangeDecision: closed(
    {
      decision: { enum: ["accept", "reject"] },
      digest: { type: "string", maxLength: 128 },
      path: { type: "string", minLength: 1, maxLength: 4_096 },
    },
    ["digest", "path"],
  ),
  PolicyTrial: closed({
    policy: { type: "string", minLength: 1, maxLength: MAX_POLICY_CHARS },
    last: { type: "integer", minimum: 1, maximum: 100_000 },
  }),
  CallRepetition: closed({ dryRun: { type: "boolean" } }),
  Answer: closed(
    {
      decision: { enum: ["allow", "deny", "always", "answer"] },
      digest: { type: "string", maxLength: 128 },
      answer: {
        anyOf: [
          { type: "string", maxLength: MAX_ANSWER_CHARS },
          { type: "array", items: { type: "string", maxLength: MAX_CHOICE_CHARS }, maxItems: MAX_CHOICES },
        ],
      },
      arguments: {},
      approval: { type: "object" },
      reason: { type: "string", maxLength: MAX_REASON_CHARS },
    },
    ["answer", "arguments", "approval", "reason"],
  ),
});

/** The name of a body, as in `docs/openapi.yaml`. */
export type BodyName =
  | "ConsoleLogin"
  | "LinkAnswer"
  | "NewPush"
  | "ForgottenPush"
  | "NewSession"
  | "SessionChange"
  | "NewMessage"
  | "ChangeDecision"
  | "PolicyTrial"
  | "CallRepetition"
  | "Answer";

/** The body that logs in to the console. */
export interface ConsoleLogin {
  /** A one-time token, or the bearer token of a credential. */
  readonly token: string;
}

/** The body that reads what a link of a notification answers, and answers it. */
export interface LinkAnswer {
  /** What the fragment of the link has. */
  readonly token: string;
  /** Default: the confirmation is only read. */
  readonly decision?: "allow" | "deny";
  readonly reason?: string;
}

/** The body with which a browser subscribes. */
export type NewPush = PushSubscription;

/** The body with which a browser subscribes no longer. */
export interface ForgottenPush {
  readonly endpoint: string;
}

/** The body that opens a session. */
export interface NewSession {
  readonly workspace?: string;
  readonly mode?: SessionMode;
  readonly name?: string;
  readonly kind?: "main" | "worker";
  readonly tools?: readonly string[];
}

/** The body that changes a session. */
export interface SessionChange {
  readonly mode: SessionMode;
}

/** The body that adds a message to a turn: either `calls`, or `message` in a provider's `format`. */
export interface NewMessage {
  /** Default: `messageId`, so that a message that is sent again finds its turn, or else a new turn. */
  readonly turnId?: string;
  /** Default: a new id. */
  readonly messageId?: string;
  /** Only with the first message of a turn. */
  readonly userText?: string;
  readonly calls?: readonly { readonly id: string; readonly name: string; readonly arguments: JsonValue }[];
  readonly format?: (typeof FORMATS)[number];
  readonly message?: JsonValue;
}

/** The body that accepts or rejects staged changes. */
export interface ChangeDecision {
  readonly decision: "accept" | "reject";
  /** The digest of what was shown. Required to accept. */
  readonly digest?: string;
  /** Default: all changes. */
  readonly path?: string;
}

/** The body that tries a policy on recorded calls. */
export interface PolicyTrial {
  /** YAML. */
  readonly policy: string;
  /** The most calls, the latest ones. */
  readonly last: number;
}

/** The body that repeats a recorded call. */
export interface CallRepetition {
  /** Whether the call is only decided on. */
  readonly dryRun: boolean;
}

/** The body that answers a confirmation. */
export interface Answer {
  readonly decision: Choice;
  readonly digest: string;
  readonly answer?: QuestionAnswer;
  readonly arguments?: JsonValue;
  readonly approval?: ApprovalScope;
  readonly reason?: string;
}

const checks = new Map(
  Object.entries(BODY_SCHEMAS).map(([name, schema]) => [name as BodyName, new BodyCheck(schema)]),
);

/** Returns the first problem of a body; `undefined` if none. */
export function bodyProblem(name: BodyName, value: JsonValue): string | undefined {
  return checks.get(name)?.problem(value);
}
