import { ERROR_CODES } from "../engine/errors.ts";
import { ACCESS } from "../http/access.ts";
import {
  anyJson,
  anyOf,
  boolean,
  constant,
  integer,
  list,
  number,
  object,
  oneOf,
  optional,
  string,
  type TypeOf,
} from "../json/shape.ts";
import { LIMIT_NAMES } from "../policy/grant/limits.ts";
import {
  GrantedCapabilities,
  RECEIPT_MEMBERS,
  RESULT_MEMBERS,
  ResourceLimits,
} from "../remote-protocol/shapes.ts";
import { SANDBOX_MODES } from "../tool/sandbox-mode.ts";
import { SIDE_EFFECTS } from "../tool/side-effects.ts";
import { content, json, operations, REFUSALS } from "./operation.ts";
import { ConsoleServer } from "./server.ts";

/** Maximum number of calls of a page, and of an event. */
export const MAX_LISTED_CALLS = 500;
/** How many a page has by default. */
export const DEFAULT_LISTED_CALLS = 200;
/** What a list of calls can be filtered by. */
export const CALL_FILTERS = ["running", "waiting", "ended"] as const;

export const DECISION = oneOf(["allow", "ask", "deny"]);
export const EFFECT = oneOf(["none", "committed", "unknown"]);

/** The parts of a call's time, in the order in which they begin. */
const PHASES = ["gate", "parse", "decide", "wait", "hook", "record", "sandbox", "end"] as const;

/** The grant under which a call runs. */
export const Grant = object(
  {
    sandbox: oneOf(SANDBOX_MODES),
    isolation: optional(constant("namespaces", { description: "What must confine the program." })),
    limits: ResourceLimits,
    capabilities: GrantedCapabilities,
  },
  { description: "The sandbox, the limits and the capabilities of a call." },
);

/** What every decision of a policy can have. */
const BASIS = {
  rules: optional(list(string(), { description: "The names of the rules that led to it." })),
  policyDecision: optional(
    oneOf(["allow", "ask"], { description: "What the policy decided, if something over it changed that." }),
  ),
};
const SANDBOXES = optional(
  list(oneOf(SANDBOX_MODES), { description: "Every sandbox that the policy accepts, if there are several." }),
);

export const PolicyDecision = anyOf([
  object({ decision: constant("allow"), ...BASIS, grant: Grant, sandboxes: SANDBOXES }),
  object({
    decision: constant("ask"),
    ...BASIS,
    question: string(),
    grant: optional(Grant),
    sandboxes: SANDBOXES,
    remember: optional(constant("session")),
  }),
  object({
    decision: constant("deny"),
    ...BASIS,
    reason: string(),
    near: optional(
      list(object({ rule: string(), missed: string() }), {
        description: "The rules that would have allowed the call, and what they missed.",
      }),
    ),
  }),
]);

const figure = (description: string) => optional(number({ minimum: 0, description }));

export const Receipt = object(
  {
    ...RECEIPT_MEMBERS,
    used: object({
      wallTimeMs: number({ minimum: 0, description: "Milliseconds that the work took." }),
      waitedMs: figure("Milliseconds for which the call waited for its turn."),
      outputBytes: figure("Bytes of the output as JSON text."),
      memoryBytes: figure("Bytes of memory."),
      logLines: figure("Lines that it logged."),
      nestedCalls: figure("Calls that it made to other tools."),
      fileBytes: figure("Bytes that it wrote to files."),
      instance: optional(oneOf(["fresh", "reused"])),
      engine: optional(constant("jco", { description: "Absent if Sandgate's own engine ran it." })),
      contacted: optional(
        list(object({ origin: string(), address: string() }), {
          description: "Every connection that a request was written to, in order.",
        }),
      ),
      bytesUp: figure("Bytes that were sent over the network."),
      bytesDown: figure("Bytes that were received from the network."),
      attempts: figure("How many requests an HTTP tool sent, or how many times an executor was asked."),
    }),
    recorded: optional(
      constant(false, { description: "Set if the call ran, but its end could not be recorded." }),
    ),
  },
  { description: "What was enforced, and what the call used." },
);

const DIGEST = string({ description: "SHA-256, as hexadecimal digits." });

/** The result of a call of a session. */
export const ToolExecution = object(
  {
    callId: string(),
    toolName: string(),
    arguments: anyJson(),
    ...RESULT_MEMBERS,
    error: optional(
      object({
        code: oneOf(ERROR_CODES),
        message: string({ description: "The text for the model." }),
        effect: EFFECT,
        userVisible: boolean({ description: "Whether users may see the message." }),
        limit: optional(oneOf(LIMIT_NAMES, { description: "With `limit_exceeded`." })),
      }),
    ),
    receipt: Receipt,
    modelText: optional(
      string({
        description: "How the model reads the output, if the tool says so. Absent for a nested call.",
      }),
    ),
    partialOutput: optional(
      string({ description: "What the tool of a call that was cancelled or timed out had streamed." }),
    ),
    confirmation: optional(
      object(
        { by: string(), digest: DIGEST, editedDigest: optional(DIGEST) },
        { description: "Who confirmed the call, and what they saw. Absent if no person allowed the call." },
      ),
    ),
    questions: optional(
      list(object({ by: string(), decision: oneOf(["answer", "deny"]), digest: DIGEST }), {
        description: "Who answered the questions of the tool, or declined to, in order.",
      }),
    ),
    work: optional(
      object(
        {
          calls: list(
            object({
              tool: string(),
              decision: anyOf([oneOf(["allowed", "denied", "not run"]), object({ allowedBy: string() })]),
              effect: EFFECT,
              code: optional(oneOf(ERROR_CODES)),
            }),
          ),
          omittedCalls: integer(),
          log: list(string()),
          omittedLines: integer(),
        },
        { description: "What the tool did, for the model." },
      ),
    ),
    resultBudget: optional(
      object(
        { chars: optional(integer({ minimum: 0 })), head: optional(number({ minimum: 0, maximum: 1 })) },
        { description: "How much of the result the model reads, if it is bounded." },
      ),
    ),
  },
  { description: "The result of a call. `success` is true if and only if there is no error." },
);

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
    receipt: optional(Receipt),
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
    access: ACCESS.console,
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
    access: ACCESS.console,
    answers: {
      200: content(
        {
          "text/event-stream": string({
            description: "The data of each is JSON with the schema CallFeedEvent.",
          }),
        },
        "Events.",
      ),
    },
    refusals: [REFUSALS.Draining],
  },
  getCall: {
    method: "GET",
    path: "/v1/calls/:ref",
    summary: "Shows one of the latest calls; only with server.console",
    access: ACCESS.console,
    answers: { 200: json(CallDetails, "The call.") },
  },
});
