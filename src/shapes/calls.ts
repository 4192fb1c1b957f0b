import {
  anyObject,
  anyOf,
  constant,
  integer,
  list,
  number,
  object,
  oneOf,
  optional,
  string,
  type TypeOf,
  typed,
} from "../json/shape.ts";
import { SIDE_EFFECTS } from "../tool/side-effects.ts";
import { CONSOLE, content, json, operations } from "./operation.ts";
import { ConsoleServer } from "./server.ts";

/** The most calls of a page, and of an event. */
export const MAX_LISTED_CALLS = 500;
/** How many a page has by default. */
export const DEFAULT_LISTED_CALLS = 200;
/** What a list of calls can be filtered by. */
export const CALL_FILTERS = ["running", "waiting", "ended"] as const;

const DECISION = oneOf(["allow", "ask", "deny"]);
const EFFECT = oneOf(["none", "committed", "unknown"]);

/** The parts of a call's time, in the order in which they begin. */
const PHASES = ["gate", "parse", "decide", "wait", "hook", "record", "sandbox", "end"] as const;

/** What a list shows of a call. */
const SUMMARY = {
  ref: string({ description: "Identifies the call until the server ends." }),
  callId: string(),
  toolName: string(),
  sessionId: string(),
  session: optional(
    object(
      { name: optional(string()), openedAt: integer({ description: "Milliseconds since the epoch." }) },
      { description: "Absent for a call of the executor." },
    ),
  ),
  parent: optional(string({ description: "The ref of the calling call." })),
  principal: optional(object({ id: string(), kind: oneOf(["user", "agent", "service"]) })),
  sideEffects: oneOf(SIDE_EFFECTS),
  startedAt: integer({ description: "Milliseconds since the epoch." }),
  state: oneOf(["running", "waiting", "completed", "failed", "aborted"]),
  summary: optional(
    string({
      description: "The beginning and the end of the arguments as JSON in a line, escaped and redacted.",
    }),
  ),
  requestId: optional(
    string({ description: "The confirmation that the call waits for; absent if it does not wait." }),
  ),
  decision: optional(DECISION),
  code: optional(string()),
  effect: optional(EFFECT),
  sandbox: optional(string()),
  durationMs: optional(number()),
  phases: list(
    object({
      name: oneOf(PHASES),
      at: number({ description: "Milliseconds after the start of the call." }),
      ms: optional(number({ description: "Absent while the phase lasts." })),
    }),
    { maxItems: 51 },
  ),
};

export const CallSummary = object(SUMMARY, {
  description: "A call. Names are escaped, and their middle is left out if they are long.",
});
export type CallSummary = TypeOf<typeof CallSummary>;
export type Phase = CallSummary["phases"][number];

const CHANGE = {
  decision: oneOf(["allow", "ask"], { description: "What the changed policy decides on the call." }),
  text: string({ description: "The change in words." }),
  yaml: string({ description: "Rules of a policy file, in visible ASCII, to be copied as they are." }),
  where: string({ description: "The files and lines at which the rules belong." }),
  widens: list(string(), {
    description: "Other calls, similar to this one, that the changed policy would allow.",
  }),
};

export const SuggestedChange = object({
  ...CHANGE,
  exactly: optional(
    object(CHANGE, { description: "The change for exactly this call, if the first one allows more." }),
  ),
});
export type SuggestedChange = TypeOf<typeof SuggestedChange>;

export const CallDetails = object(
  {
    ...SUMMARY,
    arguments: optional(
      string({ description: "JSON text, or its beginning. A summary while a person is asked." }),
    ),
    output: optional(string({ description: "JSON text, or its beginning." })),
    log: list(string(), { maxItems: 100 }),
    error: optional(
      object({
        code: string(),
        message: string(),
        effect: EFFECT,
        limit: optional(string()),
        detail: optional(string({ description: "For operators; a path, a rule or a stack." })),
      }),
    ),
    explanation: optional(
      object({
        decision: DECISION,
        reason: optional(string()),
        rules: list(
          object({
            name: string(),
            matched: constant(true),
            because: list(string()),
            file: optional(
              string({
                description: "The name of the file that has the rule; absent if the rule was made in code.",
              }),
            ),
            line: optional(integer({ minimum: 1 })),
          }),
        ),
        near: list(object({ rule: string(), missed: list(string()) })),
        grant: optional(string({ description: "JSON text." })),
        policyRevision: optional(string()),
      }),
    ),
    suggestion: optional(
      anyOf([SuggestedChange, object({ withheld: string() })], {
        description:
          "Of a call that was denied. The smallest change of the policy that would allow it, or why there is " +
          "none.",
      }),
    ),
    receipt: optional(
      typed<object>(anyObject({ description: "What was enforced, and what the call used." })),
    ),
    confirmation: optional(object({ requestId: string() })),
  },
  { description: "A call with its details. Its texts are escaped and redacted." },
);
export type CallDetails = TypeOf<typeof CallDetails>;
export type Explanation = NonNullable<CallDetails["explanation"]>;
export type MatchedRule = Explanation["rules"][number];
export type Suggestion = NonNullable<CallDetails["suggestion"]>;

export const Calls = object({
  calls: list(CallSummary, { maxItems: MAX_LISTED_CALLS }),
  next: optional(string({ description: "The value of before for older calls; absent if there are none." })),
});
export type Calls = TypeOf<typeof Calls>;

export const CallFeedEvent = anyOf(
  [
    object({ type: constant("calls"), calls: list(CallSummary, { maxItems: MAX_LISTED_CALLS }) }),
    object({
      type: constant("lost"),
      count: integer({ description: "How many calls that changed were left out." }),
    }),
    object({ type: constant("server"), server: ConsoleServer }),
    object({ type: constant("attention") }, { description: "The open confirmations changed." }),
  ],
  {
    description:
      "The data of an event of /v1/calls/events, which is named after its type: the calls that changed, every 100 ms; how many were " +
      "left out; the server, first and when it changes; and that open confirmations changed.",
  },
);
export type CallFeedEvent = TypeOf<typeof CallFeedEvent>;

export const CALLS = operations({
  listCalls: {
    method: "GET",
    path: "/v1/calls",
    summary: "Lists the latest calls of all sessions and of the executor; only with server.console",
    access: CONSOLE,
    query: {
      state: oneOf(CALL_FILTERS, { description: "What the calls are doing." }),
      tool: string({ description: "A part of the tool's name, as toolName shows it." }),
      session: string({ description: "A part of the session's id or name, as the call shows it." }),
      code: string({ description: "A part of the code of the error." }),
      before: string({ description: "A reference: only older calls." }),
      limit: integer({
        minimum: 1,
        maximum: MAX_LISTED_CALLS,
        default: DEFAULT_LISTED_CALLS,
        description: "How many calls at most.",
      }),
    },
    answers: {
      200: json(
        Calls,
        "The calls that the client may know about, the newest first: of the last 10,000, as far as 64 MiB " +
          "have room for them.",
      ),
    },
  },
  followCalls: {
    method: "GET",
    path: "/v1/calls/events",
    summary: "Sends the changes of calls as server-sent events",
    access: CONSOLE,
    answers: {
      200: content(
        { "text/event-stream": string() },
        "Events. The data of each is JSON with the schema CallFeedEvent.",
      ),
    },
    problems: { 503: "draining. The server is shutting down." },
  },
  getCall: {
    method: "GET",
    path: "/v1/calls/:ref",
    summary: "Shows one of the latest calls; only with server.console",
    access: CONSOLE,
    answers: { 200: json(CallDetails, "The call.") },
  },
});
